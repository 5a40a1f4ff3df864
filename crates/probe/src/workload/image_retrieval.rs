//! Nine images of 512 × 512 bytes from a file to a frame buffer in memory, in the variants of the paper.

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use hemiola_rt::sys::descriptor::duplicate;
use hemiola_rt::sys::process::clear_cloexec;
use serde::{Deserialize, Serialize};

use super::{runs, shown, window};
use crate::catalogue::Probe;
use crate::file::filled;
use crate::peer::{Part, Peer, PeerProcess, place};
use crate::stage::Stage;
use crate::{ProbeError, Readings, Setting, Unit};

/// Pixels of an image's side and bytes of a line.
const SIDE: usize = 512;
/// Bytes of an image.
const IMAGE: usize = SIDE * SIDE;
/// Images per row and per column.
const GRID: usize = 3;
/// Images on the screen.
const IMAGES: usize = GRID * GRID;
/// Attributes of an image.
const ATTRIBUTES: usize = 100;
/// The displayed range of brightness.
const WINDOW: (u8, u8) = (40, 200);

/// A variant of image retrieval, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRetrieval {
    /// One process reads each image from the file and renders it: figure 1.2.
    ReadAndDisplay,
    /// A database process reads, a user interface process requests and forwards, a screen process renders; Unix stream
    /// sockets, 2 × 9 messages of an image and one final acknowledgement: figure 1.3.
    SeveralProcesses,
    /// As `ReadAndDisplay`, and each image has 100 attributes, each a separate object in a hash map: figure 1.4.
    WithAttributes,
    /// As `ReadAndDisplay`, with a system call for each line: figure 1.5.
    ByLine,
    /// A part: one image rendered.
    Render,
    /// A part: one attribute created, inserted into its map and dropped with it.
    Attribute,
}

impl ImageRetrieval {
    /// All, in the order of the catalogue.
    pub const ALL: [Self; 6] = [
        Self::ReadAndDisplay,
        Self::SeveralProcesses,
        Self::WithAttributes,
        Self::ByLine,
        Self::Render,
        Self::Attribute,
    ];

    /// The last word of its name, and its description.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadAndDisplay => ("read_and_display", "9 images read and rendered"),
            Self::SeveralProcesses => (
                "several_processes",
                "9 images read, forwarded twice and rendered by three processes",
            ),
            Self::WithAttributes => {
                ("with_attributes", "9 images read and rendered, with 100 attribute objects each")
            }
            Self::ByLine => ("by_line", "9 images read line by line and rendered"),
            Self::Render => ("render", "one image rendered"),
            Self::Attribute => ("attribute", "one attribute object created, kept and dropped"),
        }
    }

    fn name(self) -> String {
        format!("workload.image_retrieval.{}", self.words().0)
    }

    pub(super) fn probe(self) -> Probe {
        Probe::time(self.name(), self.words().1, false, move |_, setting, count| {
            self.measure(setting, count)
        })
    }

    /// Takes `count` readings, each of one whole run.
    ///
    /// # Errors
    /// `System` when the setting's directory does not accept a file; `Peer` when the other processes fail.
    pub fn measure(self, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
        let file = filled(&setting.directory, false).map_err(ProbeError::doing("create a file"))?;
        let servers = match self {
            Self::SeveralProcesses => Some(Servers::start(setting, &file)?),
            _ => None,
        };
        let operations = match self {
            Self::Attribute => ATTRIBUTES as u64,
            _ => 1,
        };
        let (taken, granted) = Stage::run(setting, setting.cpu, |stage| {
            let mut screen = Screen::new();
            let mut image = vec![0; IMAGE];
            let taken = runs(stage, count, operations, &mut || match self {
                Self::ReadAndDisplay => whole(&file, &mut image, &mut screen),
                Self::SeveralProcesses => match &servers {
                    Some(servers) => servers.retrieve(&mut image),
                    None => Err(io::ErrorKind::NotConnected.into()),
                },
                Self::WithAttributes => (0..IMAGES).try_for_each(|number| {
                    read(&file, number, &mut image)?;
                    let attributes = attributes(number);
                    screen.render(number, &image);
                    drop(black_box(attributes));
                    Ok(())
                }),
                Self::ByLine => (0..IMAGES).try_for_each(|number| {
                    for (line, bytes) in image.chunks_exact_mut(SIDE).enumerate() {
                        file.read_exact_at(bytes, (number * IMAGE + line * SIDE) as u64)?;
                    }
                    screen.render(number, &image);
                    Ok(())
                }),
                Self::Render => {
                    screen.render(0, &image);
                    Ok(())
                }
                Self::Attribute => {
                    drop(black_box(attributes(0)));
                    Ok(())
                }
            })?;
            Ok((taken, stage.granted.clone()))
        })?;
        let images = format!("{GRID} × {GRID}, {SIDE} × {SIDE} bytes");
        let circumstances = [("images", images.as_str()), ("placement", "one core")];
        let name = self.name();
        let given = (setting, granted);
        Ok(Readings::new(&name, Unit::Nanoseconds, taken, operations, given, &circumstances))
    }
}

fn whole(file: &File, image: &mut [u8], screen: &mut Screen) -> io::Result<()> {
    (0..IMAGES).try_for_each(|number| {
        read(file, number, image)?;
        screen.render(number, image);
        Ok(())
    })
}

fn read(file: &File, number: usize, image: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(image, (number * IMAGE) as u64)
}

/// The frame buffer and its brightness table.
struct Screen {
    table: [u32; 256],
    frame: Vec<u32>,
}

impl Screen {
    fn new() -> Self {
        Self { table: window(WINDOW.0, WINDOW.1), frame: vec![0; IMAGES * IMAGE] }
    }

    /// Renders image `number` in its place.
    fn render(&mut self, number: usize, image: &[u8]) {
        let (row, column) = (number / GRID, number % GRID);
        for (line, stored) in image.chunks_exact(SIDE).enumerate() {
            let start = (row * SIDE + line) * GRID * SIDE + column * SIDE;
            shown(stored, &self.table, &mut self.frame[start..start + SIDE]);
        }
        black_box(&mut self.frame);
    }
}

/// An attribute of an image, allocated separately as in the paper.
#[derive(Debug)]
struct Attribute {
    #[expect(dead_code, reason = "only allocated and dropped")]
    value: String,
}

/// The attributes of image `number`.
fn attributes(number: usize) -> HashMap<String, Box<Attribute>> {
    let mut attributes = HashMap::new();
    for place in 0..ATTRIBUTES {
        let attribute = Attribute { value: format!("value {place} of image {number}") };
        attributes.insert(format!("attribute {place}"), Box::new(attribute));
    }
    attributes
}

/// The orders for a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Orders {
    /// Answers each image number on `socket` with the image from `file`.
    Database { socket: i32, file: i32 },
    /// Renders each image that follows its number on `socket`, and acknowledges the last.
    Screen { socket: i32 },
}

/// The processes beside the user interface's.
struct Servers {
    /// Killed before they can see the sockets closed.
    #[expect(dead_code, reason = "they run while this lives")]
    peers: [Peer; 2],
    database: UnixStream,
    screen: UnixStream,
}

impl Servers {
    fn start(setting: &Setting, file: &File) -> Result<Self, ProbeError> {
        let doing = || ProbeError::doing("connect the processes");
        let (database, of_database) = UnixStream::pair().map_err(doing())?;
        let (screen, of_screen) = UnixStream::pair().map_err(doing())?;
        for inherited in [of_database.as_fd(), of_screen.as_fd(), file.as_fd()] {
            clear_cloexec(inherited).map_err(doing())?;
        }
        let start = |orders| {
            let profile = place(setting.cpu, setting.scheduling, false);
            let mut peer = Peer::start(setting, profile, Part::Workload(orders))?;
            peer.begin()?;
            Ok::<_, ProbeError>(peer)
        };
        let (socket, file) = (of_database.as_raw_fd(), file.as_raw_fd());
        let first = start(Orders::Database { socket, file })?;
        let second = start(Orders::Screen { socket: of_screen.as_raw_fd() })?;
        Ok(Self { peers: [first, second], database, screen })
    }

    /// All images, from the database to the screen.
    fn retrieve(&self, image: &mut [u8]) -> io::Result<()> {
        let (mut database, mut screen) = (&self.database, &self.screen);
        for number in 0..IMAGES {
            let number = (number as u64).to_le_bytes();
            database.write_all(&number)?;
            database.read_exact(image)?;
            screen.write_all(&number)?;
            screen.write_all(image)?;
        }
        screen.read_exact(&mut [0])
    }
}

/// Runs one of the processes until it is killed.
pub(crate) fn run_peer(mut process: PeerProcess, orders: &Orders) -> Result<(), ProbeError> {
    let doing = || ProbeError::doing("serve images");
    let mut image = vec![0; IMAGE];
    match orders {
        Orders::Database { socket, file } => {
            let mut socket = UnixStream::from(duplicate(*socket).map_err(doing())?);
            let file = File::from(duplicate(*file).map_err(doing())?);
            let _ = process.apply_profile();
            process.ready()?;
            loop {
                let number = receive_number(&mut socket).map_err(doing())?;
                read(&file, number, &mut image).map_err(doing())?;
                socket.write_all(&image).map_err(doing())?;
            }
        }
        Orders::Screen { socket } => {
            let mut socket = UnixStream::from(duplicate(*socket).map_err(doing())?);
            let mut screen = Screen::new();
            let _ = process.apply_profile();
            process.ready()?;
            loop {
                let number = receive_number(&mut socket).map_err(doing())?;
                socket.read_exact(&mut image).map_err(doing())?;
                screen.render(number, &image);
                if number == IMAGES - 1 {
                    socket.write_all(&[0]).map_err(doing())?;
                }
            }
        }
    }
}

/// Receives the number of an image.
fn receive_number(socket: &mut UnixStream) -> io::Result<usize> {
    let mut number = [0; 8];
    socket.read_exact(&mut number)?;
    let number = u64::from_le_bytes(number) as usize;
    if number < IMAGES { Ok(number) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_image_has_its_place_on_the_screen() {
        let mut screen = Screen::new();
        screen.render(5, &vec![255; IMAGE]);
        let lit = |row: usize, column: usize| {
            screen.frame[row * SIDE * GRID * SIDE + column * SIDE] == 0xFF_FFFF
        };
        for (row, column) in (0..GRID).flat_map(|row| (0..GRID).map(move |column| (row, column))) {
            assert_eq!(lit(row, column), (row, column) == (1, 2));
        }
        assert_eq!(screen.frame.iter().filter(|pixel| **pixel != 0).count(), IMAGE);
    }

    #[test]
    fn an_image_has_all_its_attributes() {
        assert_eq!(attributes(3).len(), ATTRIBUTES);
    }
}
