//! CoreOS live ISOs that the service downloads: once, with resume, and refused with the reason.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_image::testing::coreos::{CoreOsTree, Generation, IGNITION_LENGTH, KARGS_LENGTH};
use muster_tests::condition::await_condition;
use muster_tests::http::{Answer, HttpClient};
use muster_tests::qemu::coreos::entry;
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);
const ARGUMENTS: &str = "ignition.firstboot ignition.platform.id=metal";

/// A server with one file. It cuts the first response in the middle, and sends the second when the test allows it.
struct CuttingServer {
    url: String,
    go_on: Sender<()>,
    ranges: Arc<Mutex<Vec<String>>>,
}

impl CuttingServer {
    fn start(content: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/live.iso?secret=s3cret", listener.local_addr().unwrap());
        let (go_on, gate) = channel();
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let seen = ranges.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                answer(stream.unwrap(), number, &content, &gate, &seen);
            }
        });
        Self { url, go_on, ranges }
    }
}

fn answer(
    mut stream: TcpStream,
    number: usize,
    content: &[u8],
    gate: &Receiver<()>,
    seen: &Mutex<Vec<String>>,
) {
    let mut range = String::new();
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let line = line.unwrap();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            value.trim_end_matches('-').clone_into(&mut range);
        }
    }
    seen.lock().unwrap().push(range.clone());
    if number == 0 {
        let head = format!(
            "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&content[..content.len() / 2]).unwrap();
        return;
    }
    let _ = gate.recv();
    let from: usize = range.parse().unwrap_or(0);
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Range: bytes {from}-{}/{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len() - 1,
        content.len(),
        content.len() - from
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&content[from..]));
}

fn small_iso() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let iso = folder.path().join("live.iso");
    CoreOsTree::new(Generation::Described, ARGUMENTS).write_iso(&iso);
    std::fs::read(iso).unwrap()
}

fn serve(list: &Value) -> Service {
    let settings = Settings::for_user_networks().without_kube_api();
    settings.argument(&format!("--os-images={list}")).start()
}

/// Path of the ISO of a new InfraEnv, on the boot listener.
fn iso_of(client: &HttpClient, more: &Value) -> String {
    let mut wanted = json!({"name": "downloaded", "pull_secret": PULL_SECRET});
    wanted
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let made = client.post("/infra-envs", &wanted).expect(201).json();
    let path = format!("/infra-envs/{}/downloads/image-url", made["id"].as_str().unwrap());
    let url = client.get(&path).expect(200).json()["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_, path) = url.split_once("/boot/").unwrap();
    format!("/boot/{path}")
}

fn get(service: &Service, path: &str) -> Answer {
    service.boot_http().request("GET", path, None)
}

#[test]
fn an_iso_is_downloaded_once_goes_on_where_it_was_cut_and_is_told_meanwhile() {
    let content = small_iso();
    let server = CuttingServer::start(content.clone());
    let service = serve(&json!([entry("4.20", &server.url)]));
    let client = service.http();
    let iso = iso_of(&client, &json!({"openshift_version": "4.20"}));
    await_condition("half of it to be here", LIMIT, || {
        let answer = get(&service, &iso);
        let why = answer.text();
        if answer.status == 503 && why.contains("is being downloaded: 50 %") {
            Ok(())
        } else {
            Err(format!("{}: {why}", answer.status))
        }
    });
    server.go_on.send(()).unwrap();
    let image = await_condition("the image", LIMIT, || {
        let answer = get(&service, &iso);
        if answer.status == 200 {
            Ok(answer.body)
        } else {
            Err(answer.text())
        }
    });
    assert_eq!(image.len(), content.len());
    let differing = (0..image.len()).filter(|&at| image[at] != content[at]).count();
    assert!(
        differing > 0 && differing < IGNITION_LENGTH + 2 * KARGS_LENGTH,
        "{differing}"
    );
    let half = (content.len() / 2).to_string();
    assert_eq!(*server.ranges.lock().unwrap(), [String::new(), half]);
    assert!(
        !service.log().contains("s3cret"),
        "the address's secret is in the log"
    );
}

#[test]
fn what_is_not_what_the_list_says_is_refused_and_an_unreachable_server_costs_no_discovery() {
    let folder = tempfile::tempdir().unwrap();
    let (iso, other) = (folder.path().join("live.iso"), folder.path().join("other.iso"));
    std::fs::write(&iso, small_iso()).unwrap();
    std::fs::write(&other, "half a download").unwrap();
    let mut damaged = entry("4.20", iso.to_str().unwrap());
    damaged["sha256"] = json!("0".repeat(64));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nowhere = entry("4.18", &format!("http://{nobody}/live.iso"));
    let mut of_arm = nowhere.clone();
    of_arm["cpu_architecture"] = json!("arm64");
    let service = serve(&json!([
        damaged,
        entry("4.19", other.to_str().unwrap()),
        nowhere,
        of_arm
    ]));
    let client = service.http();
    for (version, architecture, why) in [
        ("4.20", "x86_64", "SHA-256"),
        ("4.19", "x86_64", "not an ISO 9660 image"),
        ("4.18", "arm64", "cannot be downloaded"),
    ] {
        let more = json!({"openshift_version": version, "cpu_architecture": architecture});
        let iso = iso_of(&client, &more);
        await_condition(why, LIMIT, || {
            let answer = get(&service, &iso);
            let said = answer.text();
            if answer.status == 503 && said.contains(why) {
                Ok(())
            } else {
                Err(said)
            }
        });
    }
    let iso = iso_of(&client, &json!({"openshift_version": "4.18"}));
    await_condition("the live image in its place", LIMIT, || {
        let answer = service.boot_http().request("HEAD", &iso, None);
        if answer.status == 200 {
            Ok(())
        } else {
            Err(answer.status.to_string())
        }
    });
}

#[test]
fn what_does_not_fit_into_the_image_is_refused_when_it_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    let iso = folder.path().join("live.iso");
    std::fs::write(&iso, small_iso()).unwrap();
    let service = serve(&json!([entry("4.20", iso.to_str().unwrap())]));
    let client = service.http();
    let url = iso_of(&client, &json!({"openshift_version": "4.20"}));
    // It is opened by the first request.
    get(&service, &url).expect(200);
    let argument = |length: usize| json!([{"operation": "append", "value": "k".repeat(length)}]);
    let own = format!("coreos.liveiso=fedora-coreos-muster-lab {ARGUMENTS}");
    let room = KARGS_LENGTH - own.len() - 2;
    let with = |length: usize| json!({"name": "n", "pull_secret": PULL_SECRET, "openshift_version": "4.20", "kernel_arguments": argument(length)});
    let made = client.post("/infra-envs", &with(room)).expect(201).json();
    let why = client
        .post("/infra-envs", &with(room + 1))
        .expect(400)
        .error_message();
    assert!(why.contains("shorten them by 1 bytes"), "{why}");
    let path = format!("/infra-envs/{}", made["id"].as_str().unwrap());
    let change = json!({"kernel_arguments": argument(room + 1)});
    let why = client.patch(&path, &change).expect(400).error_message();
    assert!(why.contains("kernel_arguments") && why.contains("1139"), "{why}");
}

/// docs/protocol/image-service.md#13.
#[test]
fn s390x_machines_get_the_list_that_they_load_by_and_the_length_of_their_initramfs() {
    let folder = tempfile::tempdir().unwrap();
    let (of_s390x, of_x86) = (folder.path().join("s390x.iso"), folder.path().join("x86.iso"));
    let tree = CoreOsTree::new(Generation::Described, ARGUMENTS);
    let list = b"images/kernel.img 0x00000000\n";
    tree.file("generic.ins", list);
    tree.file(
        "images/initrd.addrsize",
        &[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x13, 0x89],
    );
    tree.write_iso(&of_s390x);
    std::fs::write(&of_x86, small_iso()).unwrap();
    let mut entry_of_s390x = entry("4.20", of_s390x.to_str().unwrap());
    entry_of_s390x["cpu_architecture"] = json!("s390x");
    let service = serve(&json!([entry_of_s390x, entry("4.20", of_x86.to_str().unwrap())]));
    let client = service.http();
    let more = json!({"openshift_version": "4.20", "cpu_architecture": "s390x"});
    let iso = iso_of(&client, &more);
    let short = |file: &str| iso.replace("discovery.iso", file);
    let initrd = get(&service, &short("initrd.img")).expect(200).body;
    let told = get(&service, &short("initrd.addrsize")).expect(200).body;
    let length = (initrd.len() as u64).to_be_bytes();
    assert_eq!(told, [[0, 0, 0, 0, 2, 0, 0, 0], length].concat());
    assert_eq!(get(&service, &short("generic.ins")).expect(200).body, list);

    // The protocol's forms.
    let list_of = |architecture: &str| {
        let path = format!("/boot-artifacts/ins-file?version=4.20&arch={architecture}");
        get(&service, &path)
    };
    assert_eq!(list_of("s390x").expect(200).body, list);
    list_of("x86_64").expect(404);
    let infra_envs = client.get("/infra-envs").expect(200).json();
    let id = infra_envs[0]["id"].as_str().unwrap();
    let addrsize = format!("/images/{id}/s390x-initrd-addrsize?version=4.20");
    assert_eq!(get(&service, &addrsize).expect(200).body, told);
}
