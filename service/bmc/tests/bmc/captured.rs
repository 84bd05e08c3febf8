//! The client against recorded responses of real machines' BMCs (docs/protocol/captured-machines.md).

use std::path::Path;

use muster_bmc::{BmcError, Inventory};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::lab::{IMAGE, limits, rules};

/// The resources of a BMC by path, on a port of loopback. Only reads get a response.
struct Captured {
    address: String,
    /// The one that is looked at, where the BMC has several.
    system: Option<String>,
    serving: JoinHandle<()>,
}

impl Captured {
    async fn start(name: &str) -> Self {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.json"));
        let captured: Value = serde_json::from_slice(&std::fs::read(place).unwrap()).unwrap();
        let Value::Object(resources) = captured["resources"].clone() else {
            panic!("{name} has no resources");
        };
        let system = captured["system"].as_str().map(str::to_owned);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A connection that the client broke off is no fault.
                let _ = answer(stream, &resources).await;
            }
        });
        Self {
            address,
            system,
            serving,
        }
    }

    async fn connect(&self) -> muster_bmc::Bmc {
        self.try_connect(self.system.clone()).await.unwrap()
    }

    async fn try_connect(&self, system: Option<String>) -> Result<muster_bmc::Bmc, BmcError> {
        let target = muster_bmc::Target {
            address: self.address.clone(),
            credentials: muster_bmc::Credentials::new("admin", "password"),
            certificate: muster_bmc::CertificateMode::System,
            system,
        };
        let client = muster_bmc::Client::new(rules(), limits(), None);
        client.connect(&target).await
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// One request per connection.
async fn answer(stream: TcpStream, resources: &Map<String, Value>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).await?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    stream.read_exact(&mut vec![0; length]).await?;
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let found = resources
        .get(path)
        .or_else(|| resources.get(path.trim_end_matches('/')));
    let (status, body) = match (method, found) {
        ("GET", Some(body)) => ("200 OK", body.clone()),
        ("GET", None) => ("404 Not Found", json!({})),
        _ => ("405 Method Not Allowed", json!({})),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.shutdown().await
}

async fn read(name: &str) -> (&'static str, Inventory) {
    let captured = Captured::start(name).await;
    let mut bmc = captured.connect().await;
    let profile = bmc.profile().name;
    let inventory = bmc.inventory().await.unwrap();
    bmc.close().await;
    assert_eq!(inventory.notes, [] as [&str; 0], "{name}");
    (profile, inventory)
}

/// The slot, or the error if there is none.
async fn slot(name: &str) -> Result<String, BmcError> {
    let captured = Captured::start(name).await;
    let mut bmc = captured.connect().await;
    let checked = bmc.check(IMAGE).await;
    bmc.close().await;
    checked.map(|checked| checked.slot)
}

/// The parts that differ by maker, one per line.
fn summary(inventory: &Inventory) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let Inventory {
        vendor,
        model,
        serial,
        ..
    } = inventory;
    let mut lines = vec![
        format!("{} {} {}", text(vendor), text(model), text(serial)),
        format!("{:?} {}", inventory.other_serials, text(&inventory.uuid)),
    ];
    lines.extend(inventory.processors.iter().map(|one| {
        format!(
            "{}, {} cores, {} threads",
            text(&one.model),
            number(one.cores),
            number(one.threads)
        )
    }));
    lines.push(format!("{} GiB", inventory.memory.gib.unwrap_or_default()));
    lines.extend(inventory.nics.iter().map(|nic| {
        format!(
            "{} {} {} {}",
            nic.name,
            nic.mac,
            number(nic.speed_mbps),
            text(&nic.link)
        )
    }));
    lines.extend(inventory.drives.iter().map(|drive| {
        let bytes = drive.bytes.unwrap_or_default();
        format!(
            "{} {} {bytes} {}",
            drive.name,
            text(&drive.serial),
            text(&drive.protocol)
        )
    }));
    lines.push(format!(
        "BMC {}, {}",
        text(&inventory.bmc_version),
        text(&inventory.boot_mode)
    ));
    lines
}

#[tokio::test]
async fn each_machine_is_told_as_its_bmc_has_it() {
    let epyc = "AMD EPYC 7763 64-Core Processor, - cores, - threads";
    let xeon = "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz";
    let (of_lenovo, of_dell) = (
        format!("{xeon}, - cores, 36 threads"),
        format!("{xeon}, 18 cores, 36 threads"),
    );
    for (name, profile, expected) in [
        (
            "hpe-dl385-gen10-plus-v2",
            "HPE iLO",
            vec![
                "HPE ProLiant DL385 Gen10 Plus v2 MXQ1A2B3C4",
                "[] 34383350-3131-584D-5131-413242334334",
                epyc,
                epyc,
                "1024 GiB",
                "1 50:7c:6f:00:00:14 - -",
                "5 88:e9:a4:00:00:d0 - -",
                "480GB 6G SATA SSD S6MPNE0T000001 480103981056 SATA",
                "BMC iLO 5 v2.72, UEFI",
            ],
        ),
        (
            "lenovo-sr670-v2",
            "Lenovo XCC",
            vec![
                "Lenovo ThinkSystem SR670 V2 J1000001",
                "[] bc20d65a-0000-11ec-8c43-7e8ae1000001",
                &of_lenovo,
                &of_lenovo,
                "512 GiB",
                "BMC TGBT20E 1.40 2021-05-17, UEFI",
            ],
        ),
        (
            "supermicro-sys-821ge-tnhr",
            "Supermicro",
            vec![
                "Supermicro SYS-821GE-TNHR S000000X0000001",
                "[] 00000000-0000-0000-0000-7CC255000001",
                "Intel(R) Xeon(R) Platinum 8462Y+, 32 cores, 64 threads",
                "2048 GiB",
                "9 7c:c2:55:00:00:8e - LinkDown",
                "Disk.Bay.0 S6CKNN0W000001 7681501126656 -",
                "BMC 11.01.01, UEFI",
            ],
        ),
        (
            "dell-r750",
            "Dell iDRAC9",
            vec![
                "Dell Inc. PowerEdge R750 1ABC2G3",
                "[\"CNIVC0000R0001\"] 4c4c4544-0041-4210-8043-b1c04f324733",
                &of_dell,
                &of_dell,
                "512 GiB",
                "NIC.Slot.5-1 b8:3f:d2:00:00:d4 - -",
                "PCIe SSD in Slot 0 in Bay 1 00R0A00V0001 1920383410176 PCIe",
                "BMC 6.00.30.00, UEFI",
            ],
        ),
        (
            "nvidia-dgx-h100",
            "NVIDIA DGX",
            vec![
                "NVIDIA DGXH100 1660000000001",
                "[] 935D6248-0000-1000-02BB-5CFF35000001",
                "-, - cores, - threads",
                "-, - cores, - threads",
                "2048 GiB",
                "EthernetInterface0 5c:ff:35:00:00:4e - LinkDown",
                "BMC 23.11.20, -",
            ],
        ),
    ] {
        let (found, inventory) = read(name).await;
        assert_eq!(found, profile, "{name}");
        assert_eq!(summary(&inventory), expected, "{name}");
    }
}

/// OpenBMC, and a controller of several nodes.
#[tokio::test]
async fn machines_that_are_named_at_their_chassis_or_share_a_controller_are_read() {
    let (milan, grace) = (
        "AMD EPYC 7763 64-Core Processor, 64 cores, 128 threads",
        "Grace A02, 72 cores, 72 threads",
    );
    for (name, profile, expected) in [
        (
            // The system has no maker, model and serial number; its chassis has. Processors have a version in place of a model.
            "nvidia-gb200-nvl",
            "NVIDIA Grace",
            vec![
                "NVIDIA GB200 NVL -",
                "[\"1583120000001\"] 501f2928-0000-8579-cf52-dc2dbd000001",
                grace,
                grace,
                "960 GiB",
                "200 S6RMNG0X000001 3840755982336 NVMe",
                "210 S666NN0W000001 1920383410176 NVMe",
                "BMC GB200Nvl-24.12-8, -",
            ],
        ),
        (
            // "Not Available" is no address; the manager has no version.
            "hpe-cray-ex425",
            "HPE Cray EX",
            vec![
                "HPE HPE CRAY EX425 (MILAN) HA19340001",
                "[] -",
                milan,
                milan,
                "256 GiB",
                "ManagementEthernet 00:40:a6:00:00:5f - -",
                "BMC -, -",
            ],
        ),
        (
            // The summary of processors is about the GPUs.
            "hpe-cray-ex235n",
            "HPE Cray EX",
            vec![
                "HPE HPE Cray EX235n DP20300001",
                "[] -",
                "AMD EPYC 7713 64-Core Processor, 64 cores, 128 threads",
                "256 GiB",
                "ManagementEthernet 00:40:a6:00:00:ea - -",
                "BMC -, -",
            ],
        ),
    ] {
        let (found, inventory) = read(name).await;
        assert_eq!(found, profile, "{name}");
        assert_eq!(summary(&inventory), expected, "{name}");
    }
}

#[tokio::test]
async fn a_node_of_a_blade_has_to_be_named() {
    let captured = Captured::start("hpe-cray-ex425").await;
    let error = captured.try_connect(None).await.err().unwrap();
    assert!(
        matches!(&error, BmcError::SeveralSystems(systems) if *systems == ["Node0", "Node1"]),
        "{error}"
    );
}

#[tokio::test]
async fn media_go_into_the_slot_that_takes_urls() {
    let media = "/redfish/v1/Managers/1/VirtualMedia";
    assert_eq!(slot("lenovo-sr670-v2").await.unwrap(), format!("{media}/EXT1"));
    assert_eq!(
        slot("supermicro-sys-821ge-tnhr").await.unwrap(),
        format!("{media}/VirtualMedia1")
    );
    let of_openbmc = "/redfish/v1/Managers/BMC_0/VirtualMedia/USB1";
    assert_eq!(slot("nvidia-gb200-nvl").await.unwrap(), of_openbmc);
    for (name, advice) in [
        ("nvidia-dgx-h100", "RMedia"),
        ("hpe-cray-ex425", "boot its nodes by the network"),
    ] {
        let error = slot(name).await.unwrap_err();
        assert!(matches!(error, BmcError::NoMediaSlot(_)), "{name}: {error}");
        assert!(error.to_string().contains(advice), "{name}: {error}");
    }
}
