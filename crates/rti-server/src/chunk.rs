//! Messages on their way to the file of a spool and back.

use hemiola_fedpro::RequestId;
use hemiola_hla::{Body, Data};

/// The memory of a message besides its body, in bytes: its place in the queue, which is a tree.
const MESSAGE_COST: usize = 88;

/// A message for a session: a callback, or the response to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// For a response: the call that it answers.
    pub(crate) answers: Option<RequestId>,
    pub(crate) body: Body,
}

impl Message {
    /// Its memory, in bytes.
    pub(crate) fn cost(&self) -> usize {
        self.body.len() + MESSAGE_COST
    }
}

/// Consecutive messages of a spool, which the shell stores in a file and reads back.
///
/// ```text
/// for each message: the number of the call it answers, or 0 (4 bytes) · its length (4) · its body
/// ```
///
/// Numbers are in little-endian order. The file does not outlive the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolChunk {
    pub(crate) messages: Vec<Message>,
}

impl SpoolChunk {
    /// Returns the chunk as bytes.
    ///
    /// # Panics
    /// A message is longer than 4 GiB.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let len = self.messages.iter().map(|message| 8 + message.body.len()).sum();
        let mut bytes = Vec::with_capacity(len);
        for Message { answers, body } in &self.messages {
            let len = u32::try_from(body.len()).expect("a message is shorter than 4 GiB");
            let answers = answers.map_or(0, RequestId::number);
            bytes.extend_from_slice(&answers.to_le_bytes());
            bytes.extend_from_slice(&len.to_le_bytes());
            body.append(0, body.len(), &mut bytes);
        }
        bytes
    }

    /// Returns the chunk with these bytes; `None` if no chunk has them.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mut bytes = Data::from(bytes);
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let answers = number(&mut bytes)?;
            let len = number(&mut bytes)? as usize;
            if len > bytes.len() {
                return None;
            }
            let answers = if answers == 0 { None } else { Some(RequestId::from_number(answers)?) };
            messages.push(Message { answers, body: bytes.split_to(len).into() });
        }
        Some(Self { messages })
    }
}

fn number(bytes: &mut Data) -> Option<u32> {
    let number = bytes.first_chunk().copied().map(u32::from_le_bytes)?;
    let _ = bytes.split_to(4);
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_survives_the_way_through_bytes_and_a_cut_one_is_refused() {
        let message = |answers, body: &'static [u8]| Message {
            answers: RequestId::from_number(answers).filter(|_| answers > 0),
            body: Data::from_static(body).into(),
        };
        let chunk = SpoolChunk { messages: vec![message(0, b"callback"), message(7, b"")] };
        let bytes = chunk.to_bytes();
        assert_eq!(SpoolChunk::from_bytes(bytes.clone()), Some(chunk));
        for len in (1..bytes.len()).filter(|len| *len != 16) {
            assert_eq!(SpoolChunk::from_bytes(bytes[..len].to_vec()), None, "{len} bytes");
        }
    }
}
