//! Values of a project as things to trust: what is shown of one, and by what it is known again.

use crate::tree::{At, Node, Place, Sources, Value, push_key};
use crate::trust::Item;
use crate::values::node_text;

pub fn text_node(text: &str) -> Node {
    Node::new(Value::String(text.to_owned()), At::whole(Sources::BUILT_IN))
}

/// `name` is that of a table below the key.
pub fn item(key: &str, name: Option<&str>, node: &Node, place: Place) -> Item {
    let mut what = key.to_owned();
    if let Some(name) = name {
        push_key(&mut what, name);
    }
    let last = name.or(key.rsplit('.').next()).unwrap_or_default();
    Item::new(what, place, node_text(last, node), &normal_of(name, node))
}

/// The name of a long key is cut where it is shown, so it counts here.
pub fn normal_of(name: Option<&str>, node: &Node) -> String {
    format!("{:?}={}", name.unwrap_or_default(), normal(node))
}

/// A value in a form that comments, layout and the order of keys do not change.
pub fn normal(node: &Node) -> String {
    match &node.value {
        Value::String(text) => format!("{text:?}"),
        Value::Datetime(text) => format!("date {text}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(flag) => flag.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(normal).collect();
            format!("[{}]", items.join(","))
        }
        Value::Table(table) => {
            let pair = |(key, node): (&String, &Node)| format!("{key:?}:{}", normal(node));
            let pairs: Vec<String> = table.iter().map(pair).collect();
            format!("{{{}}}", pairs.join(","))
        }
    }
}
