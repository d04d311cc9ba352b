//! Cryptography that leaves bytes as they are: packets have their lengths, and runs repeat.

use std::sync::Arc;

use str0m::crypto::{
    AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError, CryptoProvider, Sha1HmacProvider,
    Sha1Provider, Sha256Provider, SrtpProvider, SupportedAeadAes128Gcm, SupportedAeadAes256Gcm,
    SupportedAes128CmSha1_80,
};

use crate::handshake::Dtls;

/// Bytes of the tag of AES-GCM.
const TAG: usize = 16;

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        srtp_provider: &Null,
        sha1_provider: &Null,
        sha1_hmac_provider: &Null,
        sha256_provider: &Null,
        dtls_provider: &Dtls,
    })
}

#[derive(Debug)]
struct Null;

impl Sha1Provider for Null {
    fn sha1(&self, _: &[u8]) -> [u8; 20] {
        [0; 20]
    }
}

impl Sha1HmacProvider for Null {
    fn sha1_hmac(&self, _: &[u8], _: &[&[u8]]) -> [u8; 20] {
        [0; 20]
    }
}

impl Sha256Provider for Null {
    fn sha256(&self, _: &[u8]) -> [u8; 32] {
        [0; 32]
    }
}

impl SrtpProvider for Null {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        &Null
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        &Null
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Null
    }

    fn srtp_aes_128_ecb_round(&self, _: &[u8], _: &[u8], output: &mut [u8]) {
        output.fill(0);
    }

    fn srtp_aes_256_ecb_round(&self, _: &[u8], _: &[u8], output: &mut [u8]) {
        output.fill(0);
    }
}

impl SupportedAes128CmSha1_80 for Null {
    fn create_cipher(&self, _: [u8; 16], _: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        Box::new(Null)
    }
}

impl SupportedAeadAes128Gcm for Null {
    fn create_cipher(&self, _: [u8; 16], _: bool) -> Box<dyn AeadAes128GcmCipher> {
        Box::new(Null)
    }
}

impl SupportedAeadAes256Gcm for Null {
    fn create_cipher(&self, _: [u8; 32], _: bool) -> Box<dyn AeadAes256GcmCipher> {
        Box::new(Null)
    }
}

impl Aes128CmSha1_80Cipher for Null {
    fn encrypt(&mut self, _: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        output[..input.len()].copy_from_slice(input);
        Ok(())
    }

    fn decrypt(&mut self, _: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        output[..input.len()].copy_from_slice(input);
        Ok(())
    }
}

/// The tag is zeros.
fn seal(input: &[u8], output: &mut [u8]) {
    output[..input.len()].copy_from_slice(input);
    output[input.len()..input.len() + TAG].fill(0);
}

fn open(input: &[u8], output: &mut [u8]) -> Result<usize, CryptoError> {
    let Some(len) = input.len().checked_sub(TAG) else {
        return Err(CryptoError::Other("a packet without a tag".to_owned()));
    };
    output[..len].copy_from_slice(&input[..len]);
    Ok(len)
}

impl AeadAes128GcmCipher for Null {
    fn encrypt(&mut self, _: &[u8; 12], _: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        seal(input, output);
        Ok(())
    }

    fn decrypt(&mut self, _: &[u8; 12], _: &[&[u8]], input: &[u8], output: &mut [u8]) -> Result<usize, CryptoError> {
        open(input, output)
    }
}

impl AeadAes256GcmCipher for Null {
    fn encrypt(&mut self, _: &[u8; 12], _: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        seal(input, output);
        Ok(())
    }

    fn decrypt(&mut self, _: &[u8; 12], _: &[&[u8]], input: &[u8], output: &mut [u8]) -> Result<usize, CryptoError> {
        open(input, output)
    }
}
