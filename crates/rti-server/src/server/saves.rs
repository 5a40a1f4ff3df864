//! Images of federations, on their way between the kernel and the storage of the shell.

use hemiola_rti::{Effect, Image, Input, StorageId};

use super::Server;
use crate::network::Network;

impl Server {
    /// An image has been stored, or could not be, with the reason in words.
    pub fn image_stored(&mut self, request: StorageId, result: Result<(), String>) {
        self.input(Input::Stored(request, result));
        self.deliver(None);
    }

    /// An image has been read, or could not be, with the reason in words.
    pub fn image_loaded(&mut self, request: StorageId, result: Result<Image, String>) {
        self.input(Input::Loaded(request, result));
        self.deliver(None);
    }

    /// Passes the kernel's requests to the storage.
    pub(super) fn request_images(&mut self, network: &mut dyn Network) {
        for request in std::mem::take(&mut self.schedule.images) {
            match request {
                Effect::Store(id, name, image) => network.store_image(id, name, image),
                Effect::Load(id, name) => network.load_image(id, name),
                other => unreachable!("{other:?} is no request to the storage"),
            }
        }
    }
}
