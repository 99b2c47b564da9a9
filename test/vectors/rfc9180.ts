/**
 * RFC 9180, Hybrid Public Key Encryption: mode_psk of DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, sequence
 * number 0. Keys and ciphertext in hex. Source: the RFC, appendix A.1.2.
 */
export const vector = {
  info: 'Ode on a Grecian Urn',
  psk: '0247fd33b913760fa1fa51e1892d9f307fbe65eb171e8132c2af18555a738b82',
  pskId: 'Ennyn Durin aran Moria',
  aad: 'Count-0',
  ephemeral: '463426a9ffb42bb17dbe6044b9abd1d4e4d95f9041cef0e99d7824eef2b6f588',
  privateKey: 'c5eb01eb457fe6c6f57577c5413b931550a162c71a03ac8d196babbd4e5ce0fd',
  enc: '0ad0950d9fb9588e59690b74f1237ecdf1d775cd60be2eca57af5a4b0471c91b',
  plaintext: 'Beauty is truth, truth beauty',
  ciphertext: 'e52c6fed7f758d0cf7145689f21bc1be6ec9ea097fef4e959440012f4feb73fb611b946199e681f4cfc34db8ea',
};
