//! The layout of the running kernel's structures, from its own description of its types, BTF.
//!
//! ```text
//!  header: magic eb9f u16, version u8, flags u8, header length, then offset and length of types and of strings, u32
//!  type:   name u32, info u32 (count 0–15, kind 24–28, flag 31), size or type u32, then the fields of the kind
//! ```
//!
//! Source: the kernel's `Documentation/bpf/btf.rst`.

use thiserror::Error;

/// A truncated or invalid type description.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("/sys/kernel/btf/vmlinux is not a valid type description: {0} at byte {1}")]
pub(crate) struct BtfError(&'static str, usize);

/// The kinds used here, as the kernel numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Struct = 4,
    Typedef = 8,
    Function = 12,
    Variable = 14,
}

const POINTER: u32 = 2;
const UNION: u32 = 5;
const PROTOTYPE: u32 = 13;
/// typedef, volatile, const, restrict, type tag: aliases of the type they refer to.
const TRANSPARENT: [u32; 5] = [8, 9, 10, 11, 18];
/// The deepest nesting of types; the kernel's is far less deep.
const DEPTH_MAX: u32 = 32;

/// A parsed description.
#[derive(Debug)]
pub(crate) struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// The offset of each type; number 0 is `void` and has none.
    begins: Vec<u32>,
}

/// One type, as stored.
#[derive(Clone, Copy)]
struct Type<'a> {
    name: u32,
    kind: u32,
    /// Its size, or the type it refers to.
    size_or_type: u32,
    /// The records that follow; their length depends on the kind.
    rest: &'a [u8],
}

impl<'a> Btf<'a> {
    /// Finds the offset of each type.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let word = |at: usize| word(bytes, at).ok_or(BtfError("too short", at));
        if word(0)? & 0xffff != 0xeb9f {
            return Err(BtfError("another magic number, or the other byte order", 0));
        }
        let section = |at: usize| {
            let begin = (word(4)? as usize).checked_add(word(at)? as usize);
            let end = begin
                .zip(word(at + 4).ok())
                .and_then(|(begin, len)| begin.checked_add(len as usize));
            let range = begin.zip(end).and_then(|(begin, end)| bytes.get(begin..end));
            range.ok_or(BtfError("a section beyond the end", at))
        };
        let (types, strings) = (section(8)?, section(16)?);
        let mut begins = vec![0];
        let mut at = 0;
        while at < types.len() {
            let (_, len) = type_at(types, at).ok_or(BtfError("a type beyond the end", at))?;
            begins.push(at as u32);
            at += len;
        }
        Ok(Self { types, strings, begins })
    }

    /// Returns the number of the type of this kind and name.
    pub(super) fn find(&self, kind: Kind, name: &str) -> Option<u32> {
        (1..self.begins.len() as u32).find(|id| {
            self.get(*id)
                .is_some_and(|found| found.kind == kind as u32 && self.is_named(found.name, name))
        })
    }

    /// Returns the offset of the field that is reached from struct `of` by the names of `path`. The kernel's
    /// structures are small enough for the result.
    pub(super) fn offset(&self, of: &str, path: &[&str]) -> Option<i16> {
        let mut id = self.find(Kind::Struct, of)?;
        let mut offset = 0;
        for name in path {
            let (at, field) = self.member(id, name, 0)?;
            offset += at;
            id = self.resolve(field)?;
        }
        i16::try_from(offset).ok()
    }

    /// Returns the number of a tracepoint's type definition, and for each argument whether it is a pointer.
    pub(super) fn tracepoint(&self, name: &str) -> Option<(u32, Vec<bool>)> {
        let id = self.find(Kind::Typedef, &format!("btf_trace_{name}"))?;
        let pointer = self.get(self.resolve(id)?).filter(|found| found.kind == POINTER)?;
        let prototype = self.get(self.resolve(pointer.size_or_type)?);
        let prototype = prototype.filter(|found| found.kind == PROTOTYPE)?;
        // The first argument belongs to the tracepoint; programs do not see it.
        let arguments = prototype.rest.chunks_exact(8).skip(1).map(|argument| {
            let id = word(argument, 4).and_then(|id| self.resolve(id));
            id.and_then(|id| self.get(id)).is_some_and(|found| found.kind == POINTER)
        });
        Some((id, arguments.collect()))
    }

    /// Returns offset and type of a field, searching anonymous structs and unions too.
    fn member(&self, id: u32, name: &str, depth: u32) -> Option<(u32, u32)> {
        let composite = self.get(id).filter(|found| {
            depth < DEPTH_MAX && (found.kind == Kind::Struct as u32 || found.kind == UNION)
        })?;
        composite.rest.chunks_exact(12).find_map(|member| {
            // The upper byte is the width of a bit field.
            let (field, at) = (word(member, 4)?, (word(member, 8)? & 0xff_ffff) / 8);
            if self.is_named(word(member, 0)?, name) {
                return Some((at, field));
            }
            if !self.is_named(word(member, 0)?, "") {
                return None;
            }
            let (inside, field) = self.member(self.resolve(field)?, name, depth + 1)?;
            Some((at + inside, field))
        })
    }

    /// Resolves aliases of a type.
    fn resolve(&self, mut id: u32) -> Option<u32> {
        for _ in 0..DEPTH_MAX {
            match self.get(id) {
                Some(found) if TRANSPARENT.contains(&found.kind) => id = found.size_or_type,
                _ => return Some(id),
            }
        }
        None
    }

    fn get(&self, id: u32) -> Option<Type<'a>> {
        let begin = *self.begins.get(id as usize).filter(|_| id > 0)?;
        Some(type_at(self.types, begin as usize)?.0)
    }

    fn is_named(&self, offset: u32, name: &str) -> bool {
        let rest =
            self.strings.get(offset as usize..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// Returns the type at an offset and its length; `None` if it is truncated or of an unknown kind.
fn type_at(types: &[u8], at: usize) -> Option<(Type<'_>, usize)> {
    let info = word(types, at + 4)?;
    let (kind, count) = (info >> 24 & 31, (info & 0xffff) as usize);
    let rest = match kind {
        1 | 14 | 17 => 4,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * count,
        6 | 13 => 8 * count,
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    };
    let found = Type {
        name: word(types, at)?,
        kind,
        size_or_type: word(types, at + 8)?,
        rest: types.get(at + 12..at + 12 + rest)?,
    };
    Some((found, 12 + rest))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `struct task { int; union { int pid; }; }`, `typedef void (*btf_trace_go)(void *, struct task *, int)`.
    fn small() -> Vec<u8> {
        let strings = b"\0task\0pid\0btf_trace_go\0int\0";
        let (task, pid, go, int) = (1, 6, 10, 23);
        let info = |kind: u32, count: u32| kind << 24 | count;
        let types: Vec<u32> = [
            vec![int, info(1, 0), 4, 32],                   // 1: int
            vec![0, info(5, 1), 4, pid, 1, 0],              // 2: union
            vec![task, info(4, 2), 8, int, 1, 0, 0, 2, 32], // 3: struct
            vec![0, info(2, 0), 3],                         // 4: struct task *
            vec![0, info(2, 0), 0],                         // 5: void *
            vec![0, info(13, 3), 0, 0, 5, 0, 4, 0, 1],      // 6: the prototype
            vec![0, info(2, 0), 6],                         // 7
            vec![go, info(8, 0), 7],                        // 8
        ]
        .concat();
        let header = [
            0x0001_eb9f,
            24,
            0,
            types.len() as u32 * 4,
            types.len() as u32 * 4,
            strings.len() as u32,
        ];
        let words = header.iter().chain(&types).flat_map(|word| word.to_ne_bytes());
        words.chain(strings.iter().copied()).collect()
    }

    #[test]
    fn fields_of_anonymous_members_are_found() {
        let bytes = small();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("task", &["pid"]), Some(4));
        assert_eq!(btf.offset("task", &["int"]), Some(0));
        assert_eq!(btf.offset("task", &["pi"]), None);
        assert_eq!(btf.offset("task", &["int", "pid"]), None);
    }

    #[test]
    fn a_tracepoint_lists_which_arguments_are_pointers() {
        let bytes = small();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.tracepoint("go"), Some((8, vec![true, false])));
        assert_eq!(btf.tracepoint("stop"), None);
    }

    #[test]
    fn the_description_of_the_running_kernel_is_parsed() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return println!("skipped: needs a kernel with BTF");
        };
        let btf = Btf::parse(&bytes).unwrap();
        let field = |name| btf.offset("task_struct", &[name]).unwrap();
        assert_eq!(field("tgid"), field("pid") + 4);
        assert!(btf.tracepoint("sched_waking").is_some_and(|(_, arguments)| arguments == [true]));
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_harmless(at in 0..300_usize, byte: u8, len in 0..300_usize) {
            let mut bytes = small();
            let last = bytes.len() - 1;
            bytes[at.min(last)] = byte;
            bytes.truncate(len);
            if let Ok(btf) = Btf::parse(&bytes) {
                btf.offset("task", &["pid"]);
                btf.tracepoint("go");
            }
        }
    }
}
