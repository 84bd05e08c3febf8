//! The `muster` program: a table from command to function.

use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use muster::cli::data::{backup, migrate, restore, secrets_key};
use muster::cli::failure::{self, EXIT_CODES};
use muster::cli::help::{completion, man, tips};
use muster::cli::kubernetes::{crds, kubeconfig, uninstall};
use muster::cli::output::print;
use muster::cli::{
    audit, bmc, cluster, config, events, host, infra_env, job, manager, open, pxe_config, search, status,
    token, version,
};
use muster::serve;
use muster::settings::ServeArgs;
use muster_controllers::agent_labels;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Needs less memory and time than mimalloc, and returns memory after many hosts have registered, which glibc's allocator does not
/// (docs/performance.md#memory-that-comes-back).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The allocator's options; jemalloc reads a pointer at this name when the program is loaded. Four arenas on machines of any size, since
/// each keeps what is left of its own blocks. A thread of the allocator returns freed memory to the system after a fifth of a second;
/// without it, memory is returned at the next allocation, which may never come after many requests at once. A program without shared
/// libraries finds no function by its name, so its allocator has no thread and returns memory at once. No huge pages, each of which is
/// held whole for the few kilobytes in it that are used.
#[expect(unsafe_code, reason = "the name of a symbol")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static ALLOCATOR_OPTIONS: &[u8] = if cfg!(target_feature = "crt-static") {
    b"narenas:4,tcache_max:4096,dirty_decay_ms:0,muzzy_decay_ms:0,thp:never\0"
} else {
    b"narenas:4,tcache_max:4096,dirty_decay_ms:200,muzzy_decay_ms:0,background_thread:true,thp:never\0"
};

/// Discovers bare-metal hosts: serves discovery images, collects inventories, shows which hosts are fit.
#[derive(Parser)]
#[command(name = "muster", version, max_term_width = 110, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service
    Serve(Box<ServeArgs>),
    /// Print tokens, and revoke signed URLs
    Token(token::TokenArgs),
    /// List, create, show, change and delete InfraEnvs: sets of machines that boot the same image
    #[command(subcommand, visible_alias = "infraenv", aliases = ["infra-envs", "infraenvs"])]
    InfraEnv(infra_env::InfraEnvCommand),
    /// List, show, change, bind, install and delete hosts
    #[command(subcommand)]
    Host(host::HostCommand),
    /// Short for host list
    Hosts(host::list::ListArgs),
    /// List jobs over many hosts: those that run, and those of the last day
    Jobs(job::list::ListArgs),
    /// Show, cancel and repeat jobs over many hosts
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Add, list, show, change and delete BMCs, through which machines are discovered without a hand on them
    #[command(subcommand, alias = "bmcs")]
    Bmc(bmc::BmcCommand),
    /// Import, list, show and delete clusters that hosts are added to
    #[command(subcommand, alias = "clusters")]
    Cluster(cluster::ClusterCommand),
    /// Find hosts, InfraEnvs, clusters and BMCs by a name, a serial number, an address or a part of one
    Search(search::SearchArgs),
    /// Print the address of the page for browsers, with which one signs in once
    Open(open::OpenArgs),
    /// Show what happened
    Events(events::EventsArgs),
    /// Show who requested which change
    Audit(audit::AuditArgs),
    /// Show how the service is, and how many hosts are in which state
    Status(status::StatusArgs),
    /// Show the version of this program, and those of the service and of the agent that it gives to machines
    Version(version::VersionArgs),
    /// List, make, use and remove contexts: services with how to reach them
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Copy the database and the keys into a file, while the service runs
    Backup(backup::BackupArgs),
    /// Make a data dir from such a file
    Restore(restore::RestoreArgs),
    /// Bring the tables of the database up to date, which the service does, too, when it starts
    Migrate(migrate::MigrateArgs),
    /// Make the key that encrypts secrets in the database
    #[command(subcommand)]
    SecretsKey(secrets_key::SecretsKeyCommand),
    /// Print a kubeconfig of the built-in Kubernetes API, or make all of before useless
    Kubeconfig(kubeconfig::KubeconfigArgs),
    /// Print the script by which a shell completes commands
    Completion(completion::CompletionArgs),
    /// Write man pages
    Man(man::ManArgs),
    /// Print the configuration of a DHCP server that leads machines to an InfraEnv's boot script
    PxeConfig(pxe_config::PxeConfigArgs),
    /// Take Agents for the Machines of one namespace alone, in the place of cluster-api-provider-agent: with its flags, without a database.
    /// In the container image it is /manager, as HyperShift starts it
    Manager(Box<manager::ManagerArgs>),
    /// Print the CustomResourceDefinitions
    Crds(crds::CrdsArgs),
    /// Take this service's finalizers off all custom resources of an API server, so that they can be deleted without it
    Uninstall(uninstall::UninstallArgs),
    /// The service's own: queries of AgentClassifications run in a process of their own
    #[command(hide = true, name = agent_labels::worker::COMMAND)]
    AskQueries,
    /// Print the description of the REST API
    Openapi,
}

/// A thread that compresses a part of a list serves no connection meanwhile. With one thread for each processor two lists would keep
/// all others waiting; among more threads the system divides the processors.
const THREADS_OF_A_PROCESSOR: usize = 2;

const LEAST_THREADS: usize = 4;

/// SQLite allocates by glibc. Blocks of so many bytes, as rows with large inventories are, are returned to the system when they are
/// freed; by default glibc begins to keep them in the heaps of SQLite's threads, where 58 MB stayed.
const LARGE_BLOCK: i32 = 256 << 10;

#[expect(
    unsafe_code,
    reason = "an option of glibc, for which no crate has a safe function"
)]
fn give_large_rows_back_at_once() {
    // SAFETY: it stores a number in a table of the allocator; no other thread runs yet.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK) };
}

/// Disables core files, which would expose keys, tokens and pull secrets in memory. Processes that this one starts have none either.
/// Not by `PR_SET_DUMPABLE`: with it `/proc/PID` is root's, where operators and tests look after the service.
fn leave_no_core_file() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // A limit can always be lowered.
    let _ = setrlimit(Resource::Core, none);
}

fn main() -> ExitCode {
    give_large_rows_back_at_once();
    leave_no_core_file();
    completion::answer(Cli::command);
    let arguments = manager::arguments::spelled(std::env::args_os());
    let cli = Cli::try_parse_from(&arguments).unwrap_or_else(|error| {
        let words = arguments.into_iter().skip(1);
        tips::explained(error, Cli::command(), words).exit()
    });
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}

fn run(cli: Cli) -> Result<()> {
    if matches!(cli.command, Command::AskQueries) {
        return Ok(agent_labels::worker::answer()?);
    }
    // Fails only if a provider is installed already, which is not the case here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let processors = available_parallelism().map_or(1, NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads((THREADS_OF_A_PROCESSOR * processors).max(LEAST_THREADS))
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(*args).await,
            Command::Token(args) => token::run(args).await,
            Command::InfraEnv(command) => infra_env::run(command).await,
            Command::Host(command) => host::run(command).await,
            Command::Hosts(args) => host::list::run(args).await,
            Command::Jobs(args) => job::list::run(args).await,
            Command::Job(command) => job::run(command).await,
            Command::Bmc(command) => bmc::run(command).await,
            Command::Cluster(command) => cluster::run(command).await,
            Command::Search(args) => search::run(args).await,
            Command::Open(args) => open::run(args).await,
            Command::Events(args) => events::run(args).await,
            Command::Audit(args) => audit::run(args).await,
            Command::Status(args) => status::run(args).await,
            Command::Version(args) => version::run(args).await,
            Command::Config(command) => config::run(command),
            Command::Backup(args) => backup::run(args).await,
            Command::Restore(args) => restore::run(args).await,
            Command::Migrate(args) => migrate::run(args).await,
            Command::SecretsKey(command) => secrets_key::run(command),
            Command::Kubeconfig(args) => kubeconfig::run(args).await,
            Command::Completion(args) => completion::run(&args),
            Command::Man(args) => man::run(&args, Cli::command()),
            Command::PxeConfig(args) => pxe_config::run(args).await,
            Command::Manager(args) => muster::manager::run(*args).await,
            Command::Crds(args) => crds::run(&args).await,
            Command::Uninstall(args) => uninstall::run(args).await,
            Command::AskQueries => Ok(()),
            Command::Openapi => {
                print(&format!("{}\n", muster_rest::openapi().to_pretty_json()?));
                Ok(())
            }
        }
    });
    // Without a limit, a read of a disk that hangs would be waited for endlessly.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}
