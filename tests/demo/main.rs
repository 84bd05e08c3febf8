//! `make demo`: three machines with blank disks become nodes of a real cluster and come back, on the built-in
//! Kubernetes API as management cluster. The scenarios of installations test the same steps (`tests/src/walk`).

use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};

use clap::Parser;
use muster_tests::qemu::{Firmware, Slots};
use muster_tests::walk::{CLUSTERS, HARDWARE, Host, Hub, NodePoolWalk, POOL, Story};
use nix::sys::signal::{SigSet, Signal};

/// Blank machines become nodes, and come back
#[derive(Parser)]
struct Options {
    /// End after the walk, without waiting for Ctrl-C
    #[arg(long)]
    once: bool,
}

/// Name and firmware of each machine.
const MACHINES: [(&str, Firmware); 3] = [
    ("ada", Firmware::SeaBios),
    ("bob", Firmware::Ovmf),
    ("cyd", Firmware::SeaBios),
];

/// Reason why the demo ends.
enum End {
    /// The walk came to its end, with `--once`.
    Walked,
    /// The walk failed; the reason was printed.
    Failed,
    /// A signal requested the end.
    Interrupted,
}

fn main() -> ExitCode {
    let options = Options::parse();
    // Before there are threads: all inherit the mask, and one waits for the signals.
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    if let Err(error) = signals.thread_block() {
        eprintln!("demo: signals cannot be waited for: {error}");
        return ExitCode::FAILURE;
    }
    // All files of the walk are in one folder, which is removed in any case.
    let folder = match tempfile::Builder::new().prefix("muster-demo-").tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("demo: no temporary folder: {error}");
            return ExitCode::FAILURE;
        }
    };
    if tempfile::env::override_temp_dir(folder.path()).is_err() {
        eprintln!("demo: the temporary folder is set already");
        return ExitCode::FAILURE;
    }
    let (send, ends) = channel();
    let interrupted = send.clone();
    std::thread::spawn(move || {
        let _ = signals.wait();
        let _ = interrupted.send(End::Interrupted);
    });
    std::thread::spawn(move || {
        // Dropped by a walk that panics, which reports the failure.
        let failed = Failed(Some(send));
        walk(options.once, failed);
    });
    let end = ends.recv().unwrap_or(End::Failed);
    println!("The demo ends: machines, control planes and the service with it.");
    // They are killed when this process ends: each by its id, by the kernel.
    drop(folder);
    match end {
        End::Walked | End::Interrupted => ExitCode::SUCCESS,
        End::Failed => ExitCode::FAILURE,
    }
}

/// Reports that the walk failed, unless it was defused.
struct Failed(Option<Sender<End>>);

impl Failed {
    fn but(mut self, end: End) {
        if let Some(send) = self.0.take() {
            let _ = send.send(end);
        }
    }
}

impl Drop for Failed {
    fn drop(&mut self) {
        if let Some(send) = self.0.take() {
            let _ = send.send(End::Failed);
        }
    }
}

fn walk(once: bool, failed: Failed) {
    println!("Muster's demo. Emulated machines take their time: some ten minutes on two cores.");
    let slots = Slots::all();
    let hub = Hub::built_in(Hub::settings());
    let story = hub.story();
    story.tell(&format!(
        "the service is at {}, its Kubernetes API has the kubeconfig {}",
        hub.service.client().base(),
        hub.service.kubectl().kubeconfig().display()
    ));
    let iso = hub.iso();
    story.tell("an InfraEnv was applied; three machines with blank disks boot from its ISO");
    let mut hosts: Vec<Host> = MACHINES
        .iter()
        .map(|(name, firmware)| Host::switch_on(name, *firmware, &iso, Vec::new(), slots.with()))
        .collect();
    let walk = NodePoolWalk::begin(hub);
    story.tell(&format!(
        "meanwhile a workload cluster (etcd, kube-apiserver, controller manager) started; HostedCluster and NodePool {POOL} are applied"
    ));
    walk.announce("one");
    walk.publish("one");
    walk.hub.approve(&mut hosts);
    story.tell("all three are approved");
    installation(&walk, &story, &mut hosts);
    story.tell(&format!("kubectl scale nodepool/{POOL} --replicas=0"));
    walk.scale(0);
    walk.await_empty(&mut hosts);
    story.tell("both hosts are available again: their own nodes booted them back into discovery");
    show(&walk);
    // A node is left to look at.
    story.tell(&format!("kubectl scale nodepool/{POOL} --replicas=1"));
    walk.scale(1);
    let again = walk.await_done(&mut hosts, 1);
    walk.assert_nodes(&again, "one");
    story.tell(&format!(
        "{again:?} is a Ready node again; the walk is at its end"
    ));
    drop(story);
    what_to_look_at(&walk, &hosts);
    if once {
        drop((walk, hosts));
        failed.but(End::Walked);
    } else {
        println!("Ctrl-C ends it all.");
        loop {
            std::thread::park();
        }
    }
}

fn installation(walk: &NodePoolWalk, story: &Story, hosts: &mut [Host]) {
    story.tell(&format!("kubectl scale nodepool/{POOL} --replicas=2"));
    walk.scale(2);
    let done = walk.await_done(hosts, 2);
    walk.assert_nodes(&done, "one");
    story.tell(&format!("{done:?} are Ready nodes of the workload cluster:"));
    show(walk);
}

fn show(walk: &NodePoolWalk) {
    println!("$ kubectl get agents");
    print!("{}", walk.hub.kubectl.run(&["get", "agents"]));
    println!("$ kubectl --kubeconfig WORKLOAD get nodes -o wide");
    let listed = walk.workload.kubectl().try_run(&["get", "nodes", "-o", "wide"]);
    print!("{}{}", listed.out, listed.err);
}

fn what_to_look_at(walk: &NodePoolWalk, hosts: &[Host]) {
    let management = walk.hub.service.kubectl().kubeconfig().display().to_string();
    let workload = walk.workload.plane().kubeconfig().display().to_string();
    let kubectl = muster_tests::kube::program("kubectl").display().to_string();
    println!();
    println!("What to look at (in another terminal):");
    println!("  alias kubectl={kubectl}");
    println!("  kubectl --kubeconfig {management} -n {HARDWARE} get agents -o wide");
    println!("  kubectl --kubeconfig {management} -n {HARDWARE} get events --sort-by .lastTimestamp");
    println!("  kubectl --kubeconfig {management} -n {CLUSTERS} get hostedclusters,nodepools");
    println!(
        "  kubectl --kubeconfig {management} -n {CLUSTERS}-{POOL} get machines,agentmachines,agentclusters"
    );
    println!("  kubectl --kubeconfig {workload} get nodes -o wide");
    println!("  kubectl --kubeconfig {management} -n {CLUSTERS} scale nodepool/{POOL} --replicas=3");
    for host in hosts {
        println!(
            "  tail -f {}    # the console of {}",
            host.machine.console().file().display(),
            host.name
        );
    }
    println!("  {}    # the service", walk.hub.service.client().base());
}
