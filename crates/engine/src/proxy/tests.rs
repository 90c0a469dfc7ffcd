//! The proxy with clients that try to get past it.

use super::*;
use std::sync::Mutex;

/// A server that says where it is and what it got, and the names of this small world.
struct World {
    server: SocketAddr,
    got: Arc<Mutex<Vec<String>>>,
}

impl World {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let got = Arc::new(Mutex::new(Vec::new()));
        let seen = got.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut text = vec![0; 1024];
                let count = stream.read(&mut text).await.unwrap_or(0);
                text.truncate(count);
                seen.lock().unwrap().push(String::from_utf8(text).unwrap());
                let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nreached").await;
            }
        });
        Self { server, got }
    }

    /// Everything resolves to the server; `private` names may.
    fn reach(&self, allow: &[&str], deny: &[&str], private: &[&str]) -> Reach {
        let rules = |list: &[&str]| -> Vec<Rule> {
            let list = list.iter().map(|host| format!("Net({host})"));
            list.map(|text| Rule::parse(&text, "test").unwrap())
                .collect()
        };
        let server = self.server;
        Reach {
            allow: rules(allow),
            deny: rules(deny),
            ask: Vec::new(),
            granted: Vec::new(),
            private: private.iter().map(|p| (*p).to_owned()).collect(),
            resolve: Arc::new(move |_, _| Box::pin(async move { Ok(vec![server]) })),
        }
    }

    /// What a client that says these bytes hears, and what is told of it.
    async fn say(&self, reach: Reach, bytes: &[u8]) -> (String, Vec<(String, bool)>) {
        let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        door.set_nonblocking(true).unwrap();
        let address = door.local_addr().unwrap();
        let proxy = Proxy::start(door, reach).unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = Vec::new();
        let _reset = client.read_to_end(&mut heard).await;
        let asked = proxy.end().await;
        let asked = asked
            .into_iter()
            .map(|a| (subject(&a.host, a.port), a.allowed));
        (
            String::from_utf8_lossy(&heard).into_owned(),
            asked.collect(),
        )
    }
}

fn socks(kind: u8, host: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0, 5, 1, 0, kind];
    bytes.extend_from_slice(host);
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes.extend_from_slice(b"hello");
    bytes
}

#[tokio::test]
async fn only_what_is_granted_is_reached() {
    let world = World::new().await;
    let port = world.server.port();
    let connect = |host: &str| format!("CONNECT {host} HTTP/1.1\r\n\r\nhello").into_bytes();
    let get =
        |host: &str| format!("GET http://{host}/ HTTP/1.1\r\nHost: good\r\n\r\n").into_bytes();
    let named = |name: &str| [&[name.len() as u8], name.as_bytes()].concat();
    let exact = format!("127.0.0.1:{port}");
    for (what, bytes, allow, deny, private, through) in [
        ("connect", connect("good:443"), "good", "", "good", true),
        (
            "a name in capitals",
            connect("GOOD.:443"),
            "good",
            "",
            "good",
            true,
        ),
        ("whole address", get("good"), "good", "", "good", true),
        ("by pattern", get("a.good"), "*.good", "", "a.good", true),
        (
            "socks by name",
            socks(3, &named("good"), 443),
            "good",
            "",
            "good",
            true,
        ),
        (
            "nothing granted",
            connect("good:443"),
            "",
            "",
            "good",
            false,
        ),
        (
            "another host",
            connect("evil:443"),
            "good",
            "",
            "evil",
            false,
        ),
        (
            "a longer name",
            connect("good.evil:443"),
            "good",
            "",
            "good.evil",
            false,
        ),
        (
            "another port",
            connect("good:22"),
            "good:443",
            "",
            "good",
            false,
        ),
        ("denied", connect("good:443"), "good", "good", "good", false),
        (
            "denied by pattern",
            connect("x.good:443"),
            "*",
            "*.good",
            "x.good",
            false,
        ),
        (
            "the header names another",
            get("evil"),
            "good",
            "",
            "evil",
            false,
        ),
        (
            "the address of a granted name",
            connect(&exact),
            "good",
            "",
            "good",
            false,
        ),
        (
            "socks by address",
            socks(1, &[127, 0, 0, 1], port),
            "good",
            "",
            "good",
            false,
        ),
        (
            "socks by a mapped address",
            socks(
                4,
                &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1],
                port,
            ),
            "good",
            "",
            "good",
            false,
        ),
        (
            "a name that became private",
            connect("good:443"),
            "good",
            "",
            "",
            false,
        ),
        (
            "any name that became private",
            connect("good:443"),
            "*",
            "",
            "",
            false,
        ),
        (
            "a private address by a pattern",
            connect(&exact),
            "127.*",
            "",
            "",
            false,
        ),
        (
            "a private address by its name",
            connect(&exact),
            "127.0.0.1",
            "",
            "",
            true,
        ),
        (
            "another spelling of it",
            connect(&format!("0x7f.1:{port}")),
            "127.0.0.1",
            "",
            "",
            true,
        ),
        (
            "localhost by its name",
            connect("localhost:1"),
            "localhost",
            "",
            "",
            true,
        ),
        (
            "not a proxy request",
            b"GET / HTTP/1.1\r\nHost: good\r\n\r\n".to_vec(),
            "*",
            "",
            "good",
            false,
        ),
        (
            "socks that listens",
            vec![5, 1, 0, 5, 2, 0, 1, 1, 2, 3, 4, 0, 80],
            "*",
            "",
            "",
            false,
        ),
        ("socks with a login", vec![5, 1, 2], "*", "", "", false),
        (
            "socks 4",
            vec![4, 1, 0, 80, 1, 2, 3, 4, 0, 13, 10, 13, 10],
            "*",
            "",
            "",
            false,
        ),
        ("nothing", Vec::new(), "*", "", "", false),
    ] {
        let list = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
        world.got.lock().unwrap().clear();
        let reach = world.reach(&list(allow), &list(deny), &list(private));
        let (heard, asked) = world.say(reach, &bytes).await;
        let reached = !world.got.lock().unwrap().is_empty();
        assert_eq!(reached, through, "{what}: {heard}");
        assert_eq!(heard.ends_with("reached"), through, "{what}: {heard}");
        assert!(
            asked.iter().all(|(_, allowed)| *allowed == through),
            "{what}: {asked:?}"
        );
    }
}

#[tokio::test]
async fn each_host_is_told_once_and_the_refused_too() {
    let world = World::new().await;
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    door.set_nonblocking(true).unwrap();
    let address = door.local_addr().unwrap();
    let proxy = Proxy::start(door, world.reach(&["good"], &[], &["good"])).unwrap();
    for host in ["good:1", "evil:2", "evil:2", "evil:3"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("CONNECT {host} HTTP/1.1\r\n\r\nx");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).await.unwrap();
    }
    let asked = |host: &str, port, allowed| Asked {
        host: host.into(),
        port,
        allowed,
        private: false,
    };
    assert_eq!(
        proxy.end().await,
        [
            asked("good", 1, true),
            asked("evil", 2, false),
            asked("evil", 3, false)
        ]
    );
    // Nobody answers any more.
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_second_request_does_not_follow_the_first() {
    let world = World::new().await;
    let reach = world.reach(&["good"], &[], &["good"]);
    let two = b"GET http://good/1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nHost: evil\r\n\r\n";
    world.say(reach, two).await;
    let got = world.got.lock().unwrap().clone();
    assert_eq!(
        got,
        ["GET /1 HTTP/1.1\r\nHost: good\r\nConnection: close\r\n\r\n"]
    );
}

#[tokio::test]
async fn heads_without_end_are_cut_off() {
    let world = World::new().await;
    let reach = world.reach(&["good"], &[], &["good"]);
    let mut long = b"GET http://good/ HTTP/1.1\r\nA: ".to_vec();
    long.resize(1 << 20, b'a');
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    door.set_nonblocking(true).unwrap();
    let address = door.local_addr().unwrap();
    let _proxy = Proxy::start(door, reach).unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let _cut = client.write_all(&long).await;
    let mut heard = Vec::new();
    let _reset = client.read_to_end(&mut heard).await;
    assert!(world.got.lock().unwrap().is_empty());
}

#[test]
fn what_is_denied_or_to_be_asked_is_left_out_of_a_wider_rule() {
    let rules = |list: &[&str]| -> Vec<Rule> {
        let list = list.iter().map(|host| format!("Net({host})"));
        list.map(|text| Rule::parse(&text, "test").unwrap())
            .collect()
    };
    let reach = |granted: &[&str]| Reach {
        allow: rules(&["*.a.test"]),
        ask: rules(&["ask.a.test"]),
        deny: rules(&["no.a.test"]),
        granted: rules(granted),
        private: Vec::new(),
        resolve: system(),
    };
    for (host, granted, expect) in [
        ("x.a.test", &[][..], true),
        ("no.a.test", &[], false),
        ("no.a.test", &["no.a.test"], false),
        ("ask.a.test", &[], false),
        ("ask.a.test", &["ask.a.test"], true),
        ("b.test", &[], false),
        ("b.test", &["b.test"], true),
    ] {
        assert_eq!(
            reach(granted).allows(host, 443),
            expect,
            "{host} {granted:?}"
        );
    }
}
