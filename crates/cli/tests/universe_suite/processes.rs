//! The form of the thesis: a universe manager, entities and managers that exchange messages.
//!
//! Each of them is a thread here and was a process there. A step is that of section 6.5: the universe manager notifies
//! all; each entity updates, sends a state for each monitored component, and says that it has completed; the universe
//! manager forwards each state to each manager, informs the managers at the end, and waits for them.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;

use hemiola_rt::sys::cpu_clock;

use super::link::{Channel, Link};

/// How a step reaches the entities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    /// A message to each.
    Each,
    /// One release for all.
    Together,
}

/// How the end of their updates is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// A message of each.
    Message,
    /// The scheduler's knowledge: the last one to end wakes the universe manager.
    Deadline,
}

/// A system in this form.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) channel: Channel,
    pub(crate) managers: usize,
    pub(crate) components: usize,
    pub(crate) entities: usize,
    pub(crate) notify: Notify,
    pub(crate) completion: Completion,
}

/// Messages of all steps, each counted by its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Messages {
    /// To entities and managers, to begin.
    pub(crate) notified: u64,
    /// From entities.
    pub(crate) states: u64,
    /// To managers.
    pub(crate) forwarded: u64,
    /// From entities, at their end.
    pub(crate) completed: u64,
    /// To managers at the end of the updates, and their answers.
    pub(crate) informed: u64,
}

/// What became of the steps.
pub(crate) struct Outcome {
    pub(crate) messages: Messages,
    /// ns of a step, the mean.
    pub(crate) step: f64,
    /// Shares of the time for which a thread did not run: the universe manager, the first entity, the first manager.
    pub(crate) idle: [f64; 3],
    /// Share of sending in the updates of the first entity.
    pub(crate) sending: f64,
}

/// A message, of the size of those of the thesis: kind, component, value.
const MESSAGE_LEN: usize = 64;
const NOTIFY: u8 = 1;
const STATE: u8 = 2;
const COMPLETE: u8 = 3;
const INFORM: u8 = 4;
const DONE: u8 = 5;
const STOP: u8 = 6;

/// The step that ends all entities.
const END: u64 = u64::MAX;

fn send(link: &mut Link, kind: u8, component: usize, value: u32) {
    let mut message = [0; MESSAGE_LEN];
    (message[0], message[1]) = (kind, component as u8);
    message[4..8].copy_from_slice(&value.to_le_bytes());
    link.send(&message);
}

fn receive(link: &mut Link) -> (u8, [u8; MESSAGE_LEN]) {
    let mut message = [0; MESSAGE_LEN];
    link.receive(&mut message);
    (message[0], message)
}

/// What all share in place of control messages.
#[derive(Default)]
struct Board {
    step: Mutex<u64>,
    released: Condvar,
    completed: Mutex<u64>,
    all_completed: Condvar,
}

const SOUND: &str = "no thread panics while it holds it";

impl Board {
    fn release(&self, step: u64) {
        *self.step.lock().expect(SOUND) = step;
        self.released.notify_all();
    }

    /// Waits for a step after this one.
    fn next(&self, last: u64) -> u64 {
        let step = self.step.lock().expect(SOUND);
        *self.released.wait_while(step, |step| *step == last).expect(SOUND)
    }

    fn complete(&self, all: u64) {
        let mut completed = self.completed.lock().expect(SOUND);
        *completed += 1;
        if *completed == all {
            self.all_completed.notify_one();
        }
    }

    fn wait_for(&self, all: u64) {
        let completed = self.completed.lock().expect(SOUND);
        let mut completed =
            self.all_completed.wait_while(completed, |count| *count < all).expect(SOUND);
        *completed = 0;
    }
}

/// What a thread knows of itself at its end.
#[derive(Default)]
struct Account {
    messages: Messages,
    idle: f64,
    sending: f64,
}

/// The share of some time for which the thread did not run.
struct Idle {
    began: Instant,
    ran: hemiola_units::Span,
}

impl Idle {
    fn begin() -> Self {
        Self { began: Instant::now(), ran: cpu_clock::thread() }
    }

    fn share(&self) -> f64 {
        let ran = (cpu_clock::thread() - self.ran).secs_f64();
        (1.0 - ran / self.began.elapsed().as_secs_f64()).clamp(0.0, 1.0)
    }
}

impl Form {
    pub(crate) fn run(&self, steps: u64) -> Outcome {
        let board = &Board::default();
        thread::scope(|scope| {
            let (mut entities, mut managers) = (Vec::new(), Vec::new());
            let mut started = Vec::new();
            for _ in 0..self.entities {
                let (here, there) = self.channel.pair();
                entities.push(here);
                started.push(scope.spawn(move || self.entity(there, board)));
            }
            for _ in 0..self.managers {
                let (here, there) = self.channel.pair();
                managers.push(here);
                started.push(scope.spawn(move || manager(there)));
            }
            let mut own = Account::default();
            let (began, idle) = (Instant::now(), Idle::begin());
            for step in 1..=steps {
                self.step(step, &mut entities, &mut managers, board, &mut own.messages);
            }
            own.idle = idle.share();
            let step = began.elapsed().as_nanos() as f64 / steps as f64;
            board.release(END);
            let is_told = self.notify == Notify::Each;
            let told = entities.iter_mut().filter(|_| is_told).chain(&mut managers);
            told.for_each(|link| send(link, STOP, 0, 0));
            let accounts: Vec<Account> =
                started.into_iter().map(|one| one.join().expect("it ends")).collect();
            let mut messages = own.messages;
            for account in &accounts {
                messages.notified += account.messages.notified;
                messages.forwarded += account.messages.forwarded;
                messages.informed += account.messages.informed;
            }
            let idle = |at: usize| accounts.get(at).map_or(f64::NAN, |account| account.idle);
            Outcome {
                messages,
                step,
                idle: [own.idle, idle(0), idle(self.entities)],
                sending: accounts.first().map_or(f64::NAN, |account| account.sending),
            }
        })
    }

    /// A step of the universe manager.
    fn step(
        &self,
        step: u64,
        entities: &mut [Link],
        managers: &mut [Link],
        board: &Board,
        messages: &mut Messages,
    ) {
        match self.notify {
            Notify::Each => {
                let all = entities.iter_mut().chain(managers.iter_mut());
                all.for_each(|link| send(link, NOTIFY, 0, step as u32));
            }
            Notify::Together => {
                board.release(step);
                messages.notified += 1;
            }
        }
        let states = if managers.is_empty() { 0 } else { self.components };
        for entity in entities.iter_mut() {
            for _ in 0..states {
                let (kind, state) = receive(entity);
                assert_eq!(kind, STATE);
                messages.states += 1;
                managers.iter_mut().for_each(|manager| manager.send(&state));
            }
            if self.completion == Completion::Message {
                assert_eq!(receive(entity).0, COMPLETE);
                messages.completed += 1;
            }
        }
        if self.completion == Completion::Deadline {
            board.wait_for(self.entities as u64);
        }
        managers.iter_mut().for_each(|manager| send(manager, INFORM, 0, 0));
        for manager in managers {
            assert_eq!(receive(manager).0, DONE);
            messages.informed += 1;
        }
    }

    /// The benchmark entity: its update toggles a value.
    fn entity(&self, mut link: Link, board: &Board) -> Account {
        let mut account = Account::default();
        let mut values = vec![0_u32; self.components];
        let (mut last, idle) = (0, Idle::begin());
        let (mut updating, mut sending) = (0.0, 0.0);
        loop {
            match self.notify {
                Notify::Each => match receive(&mut link).0 {
                    NOTIFY => account.messages.notified += 1,
                    _ => break,
                },
                Notify::Together => {
                    last = board.next(last);
                    if last == END {
                        break;
                    }
                }
            }
            let began = Instant::now();
            values.iter_mut().for_each(|value| *value = 1 - std::hint::black_box(*value));
            let updated = Instant::now();
            if self.managers > 0 {
                let states = values.iter().enumerate();
                states.for_each(|(at, value)| send(&mut link, STATE, at, *value));
            }
            sending += updated.elapsed().as_secs_f64();
            updating += began.elapsed().as_secs_f64();
            match self.completion {
                Completion::Message => send(&mut link, COMPLETE, 0, 0),
                Completion::Deadline => board.complete(self.entities as u64),
            }
        }
        account.idle = idle.share();
        account.sending = sending / updating;
        account
    }
}

/// The benchmark manager: it takes the states, and works when all have arrived.
fn manager(mut link: Link) -> Account {
    let mut account = Account::default();
    let (mut states, idle) = (Vec::new(), Idle::begin());
    loop {
        let (kind, message) = receive(&mut link);
        match kind {
            NOTIFY => account.messages.notified += 1,
            STATE => {
                account.messages.forwarded += 1;
                states.push(message);
            }
            INFORM => {
                account.messages.informed += 1;
                states.clear();
                send(&mut link, DONE, 0, 0);
            }
            _ => break,
        }
    }
    account.idle = idle.share();
    account
}
