//! The proxy with clients that try to get past it.

use super::*;
use base64::Engine as _;

/// Stands for the token of the guest that speaks, in plain and in a login.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Another one each time.
fn token() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{:032x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn login(token: &str) -> String {
    let login = base64::engine::general_purpose::STANDARD.encode(format!("t:{token}"));
    format!("Proxy-Authorization: Basic {login}\r\n")
}

fn known_as(token: &str, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (from, to) in [(login(TOKEN), login(token)), (TOKEN.into(), token.into())] {
        while let Some(at) = memchr::memmem::find(&bytes, from.as_bytes()) {
            bytes.splice(at..at + from.len(), to.bytes());
        }
    }
    bytes
}

/// A proxy and where it is.
fn proxy() -> (Proxy, SocketAddr) {
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    door.set_nonblocking(true).unwrap();
    let address = door.local_addr().unwrap();
    (Proxy::start(door).unwrap(), address)
}

/// All that is heard after these bytes.
async fn hear(address: SocketAddr, bytes: &[u8]) -> String {
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(bytes).await.unwrap();
    client.shutdown().await.unwrap();
    let mut heard = Vec::new();
    let _reset = client.read_to_end(&mut heard).await;
    String::from_utf8_lossy(&heard).into_owned()
}

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
        let rules = |list: &[&str]| -> Vec<HostRule> {
            list.iter().map(|host| HostRule::of(host)).collect()
        };
        let server = self.server;
        Reach {
            allow: rules(allow),
            deny: rules(deny),
            ask: Vec::new(),
            granted: Vec::new(),
            private: private.iter().map(|p| (*p).to_owned()).collect(),
            served: None,
            resolve: Arc::new(move |_, _| Box::pin(async move { Ok(vec![server]) })),
        }
    }

    /// What a client that says these bytes hears, and what is told of it.
    async fn say(&self, reach: Reach, bytes: &[u8]) -> (String, Vec<(String, bool)>) {
        let (proxy, address) = proxy();
        let guest = proxy.admit(token(), reach);
        let heard = hear(address, &known_as(guest.token(), bytes)).await;
        let asked = guest.end().into_iter();
        let asked = asked.map(|a| (subject(&a.host, a.port), a.allowed));
        (heard, asked.collect())
    }
}

fn socks_login() -> Vec<u8> {
    let mut bytes = vec![5, 2, 0, 2, 1, 1, b't', TOKEN.len() as u8];
    bytes.extend_from_slice(TOKEN.as_bytes());
    bytes
}

fn socks(kind: u8, host: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = socks_login();
    bytes.extend_from_slice(&[5, 1, 0, kind]);
    bytes.extend_from_slice(host);
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes.extend_from_slice(b"hello");
    bytes
}

#[tokio::test]
async fn only_what_is_granted_is_reached() {
    let world = World::new().await;
    let port = world.server.port();
    let login = login(TOKEN);
    let connect = |host: &str| format!("CONNECT {host} HTTP/1.1\r\n{login}\r\nhello").into_bytes();
    let get = |host: &str| {
        format!("GET http://{host}/ HTTP/1.1\r\nHost: good\r\n{login}\r\n").into_bytes()
    };
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
            format!("GET / HTTP/1.1\r\nHost: good\r\n{login}\r\n").into_bytes(),
            "*",
            "",
            "good",
            false,
        ),
        (
            "socks that listens",
            [socks_login(), vec![5, 2, 0, 1, 1, 2, 3, 4, 0, 80]].concat(),
            "*",
            "",
            "",
            false,
        ),
        (
            "socks without a login",
            vec![5, 1, 0, 5, 1, 0, 3, 1, b'x', 0, 80],
            "*",
            "",
            "x",
            false,
        ),
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
    let (proxy, address) = proxy();
    let guest = proxy.admit(token(), world.reach(&["good"], &[], &["good"]));
    let login = login(guest.token());
    for host in ["good:1", "evil:2", "evil:2", "evil:3"] {
        let request = format!("CONNECT {host} HTTP/1.1\r\n{login}\r\nx");
        hear(address, request.as_bytes()).await;
    }
    let asked = |host: &str, port, allowed| Asked {
        host: host.into(),
        port,
        allowed,
        private: false,
    };
    assert_eq!(
        guest.end(),
        [
            asked("good", 1, true),
            asked("evil", 2, false),
            asked("evil", 3, false)
        ]
    );
}

/// A client that was led to the server and has not said anything to it.
async fn led(address: SocketAddr, token: &str) -> TcpStream {
    const OPEN: &[u8] = b"HTTP/1.1 200 Connected\r\n\r\n";
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!("CONNECT good:1 HTTP/1.1\r\n{}\r\n", login(token));
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = vec![0; OPEN.len()];
    client.read_exact(&mut head).await.unwrap();
    assert_eq!(head, OPEN);
    client
}

#[tokio::test]
async fn each_command_has_its_own_hosts_and_only_while_it_runs() {
    let world = World::new().await;
    let (proxy, address) = proxy();
    let job = proxy.admit(token(), world.reach(&["good"], &[], &["good"]));
    let command = proxy.admit(token(), world.reach(&[], &[], &["good"]));
    let status = async |token: &str| {
        let request = format!("GET http://good/ HTTP/1.1\r\n{}\r\n", login(token));
        let heard = hear(address, request.as_bytes()).await;
        heard.split(' ').nth(1).unwrap_or("none").to_owned()
    };
    assert_eq!(status(job.token()).await, "200");
    assert_eq!(status(command.token()).await, "403");
    assert_eq!(status("").await, "407");
    assert_eq!(status(TOKEN).await, "407");
    let nobody = hear(address, b"CONNECT good:1 HTTP/1.1\r\n\r\n").await;
    assert!(nobody.starts_with("HTTP/1.1 407 "), "{nobody}");
    assert!(
        nobody.contains("\r\nProxy-Authenticate: Basic "),
        "{nobody}"
    );
    let asked = |allowed| Asked {
        host: "good".into(),
        port: 80,
        allowed,
        private: false,
    };
    assert_eq!(command.end(), [asked(false)]);

    let mut open = led(address, job.token()).await;
    let token = job.token().to_owned();
    assert_eq!(job.end().first(), Some(&asked(true)));
    let mut rest = Vec::new();
    let _reset = open.read_to_end(&mut rest).await;
    assert_eq!(rest, b"", "the open connection ends with the command");
    assert_eq!(status(&token).await, "407");
    drop(proxy);
    // The task that listens ends soon after.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_guest_with_too_many_connections_does_not_keep_others_out() {
    let world = World::new().await;
    let (proxy, address) = proxy();
    let greedy = proxy.admit(token(), world.reach(&["good"], &[], &["good"]));
    let other = proxy.admit(token(), world.reach(&["good"], &[], &["good"]));
    let mut held = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        held.push(led(address, greedy.token()).await);
    }
    let more = led(address, greedy.token());
    let waits = timeout(Duration::from_millis(50), more).await.is_err();
    assert!(waits, "one more than it may have");
    let other = timeout(Duration::from_secs(30), led(address, other.token())).await;
    assert!(other.is_ok());
}

#[tokio::test]
async fn a_second_request_does_not_follow_the_first() {
    let world = World::new().await;
    let reach = world.reach(&["good"], &[], &["good"]);
    let two = format!(
        "GET http://good/1 HTTP/1.1\r\n{}\r\nGET /2 HTTP/1.1\r\nHost: evil\r\n\r\n",
        login(TOKEN)
    );
    world.say(reach, two.as_bytes()).await;
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
    let (proxy, address) = proxy();
    let _guest = proxy.admit(token(), reach);
    let mut client = TcpStream::connect(address).await.unwrap();
    let _cut = client.write_all(&long).await;
    let mut heard = Vec::new();
    let _reset = client.read_to_end(&mut heard).await;
    assert!(world.got.lock().unwrap().is_empty());
}

#[test]
fn what_is_denied_or_to_be_asked_is_left_out_of_a_wider_rule() {
    let rules =
        |list: &[&str]| -> Vec<HostRule> { list.iter().map(|host| HostRule::of(host)).collect() };
    let reach = |granted: &[&str]| Reach {
        allow: rules(&["*.a.test"]),
        ask: rules(&["ask.a.test"]),
        deny: rules(&["no.a.test"]),
        granted: rules(granted),
        private: Vec::new(),
        served: None,
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
