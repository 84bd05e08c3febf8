//! Sends requests for many addresses on one link at a bounded rate, and collects every machine that replies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::arp::Arp;
use super::icmp_socket::Family;
use super::ndp::Ndp;
use super::nics::Nic;
use crate::net::ethernet::Mac;

/// Machines that replied, by address. Several for one address are a conflict.
pub type Answers = BTreeMap<IpAddr, BTreeSet<Mac>>;

/// The number and timing of requests.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Most requests for one address.
    pub rounds: u32,
    /// Requests for an address after the first round with a reply: a second machine may have been missed.
    pub after_answer: u32,
    /// From one request to the next.
    pub gap: Duration,
    /// From the end of a round to the next.
    pub between_rounds: Duration,
    /// After the last request.
    pub patience: Duration,
}

impl Plan {
    /// For few addresses, where each owner of an address matters: ten requests without a reply, as `arping -c 10`, else three.
    pub const THOROUGH: Self = Self {
        rounds: 10,
        after_answer: 2,
        gap: Duration::from_millis(2),
        between_rounds: Duration::from_millis(200),
        patience: Duration::from_secs(1),
    };
    /// For whole networks, where one reply is enough.
    pub const SWEEP: Self = Self {
        rounds: 3,
        after_answer: 0,
        gap: Duration::from_millis(1),
        between_rounds: Duration::from_millis(200),
        patience: Duration::from_millis(800),
    };
}

/// Sends requests for addresses of one family on one card.
#[derive(Debug)]
enum Asker {
    V4(Arp),
    V6(Ndp),
}

impl Asker {
    fn open(nic: &Nic, family: Family) -> io::Result<Self> {
        Ok(match family {
            Family::V4 => Self::V4(Arp::open(nic)?),
            Family::V6 => Self::V6(Ndp::open(nic)?),
        })
    }

    async fn ask(&self, target: IpAddr) -> io::Result<()> {
        match (self, target) {
            (Self::V4(arp), IpAddr::V4(ip)) => arp.ask(ip).await,
            (Self::V6(ndp), IpAddr::V6(ip)) => ndp.ask(ip).await,
            _ => Ok(()),
        }
    }

    async fn answer(&self) -> io::Result<(IpAddr, Mac)> {
        match self {
            Self::V4(arp) => arp.answer().await.map(|(ip, mac)| (IpAddr::V4(ip), mac)),
            Self::V6(ndp) => ndp.answer().await.map(|(ip, mac)| (IpAddr::V6(ip), mac)),
        }
    }
}

/// Requests `targets`, all of one family, on `nic`'s link. This host itself is never in the result.
///
/// # Errors
/// Fails for a card that is down or not Ethernet; `PermissionDenied` without CAP_NET_RAW.
pub async fn sweep(nic: &Nic, family: Family, targets: &[IpAddr], plan: Plan) -> io::Result<Answers> {
    if targets.is_empty() {
        return Ok(Answers::new());
    }
    let asker = Asker::open(nic, family)?;
    let answers = Mutex::new(Answers::new());
    let wanted: BTreeSet<IpAddr> = targets.iter().copied().collect();
    tokio::select! {
        broken = listen(&asker, &wanted, &answers) => broken?,
        asked = ask(&asker, targets, plan, &answers) => asked?,
    }
    Ok(answers.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Ends only when the socket breaks.
async fn listen(asker: &Asker, wanted: &BTreeSet<IpAddr>, answers: &Mutex<Answers>) -> io::Result<()> {
    loop {
        let (ip, mac) = asker.answer().await?;
        if wanted.contains(&ip) {
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.entry(ip).or_default().insert(mac);
        }
    }
}

async fn ask(asker: &Asker, targets: &[IpAddr], plan: Plan, answers: &Mutex<Answers>) -> io::Result<()> {
    let mut repeated: HashMap<IpAddr, u32> = HashMap::new();
    for round in 0..plan.rounds {
        if round > 0 {
            tokio::time::sleep(plan.between_rounds).await;
        }
        let mut questions = 0;
        for target in targets {
            let answered = answers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains_key(target);
            if answered {
                let repeats = repeated.entry(*target).or_default();
                if *repeats >= plan.after_answer {
                    continue;
                }
                *repeats += 1;
            }
            ask_one(asker, *target).await?;
            questions += 1;
            tokio::time::sleep(plan.gap).await;
        }
        if questions == 0 {
            break;
        }
    }
    tokio::time::sleep(plan.patience).await;
    Ok(())
}

/// A full queue loses the request, as the wire may; the next round repeats it.
async fn ask_one(asker: &Asker, target: IpAddr) -> io::Result<()> {
    match asker.ask(target).await {
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
        asked => asked,
    }
}
