/**
 * DSSE v1: the example of the protocol, its pre-authentication encoding and its ECDSA P-256 envelope.
 * Source: github.com/secure-systems-lab/dsse (Apache-2.0), `protocol.md`.
 */
export const example = {
  payload: 'hello world',
  payloadType: 'http://example.com/HelloWorld',
  pae: 'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
  envelope: {
    payload: 'aGVsbG8gd29ybGQ=',
    payloadType: 'http://example.com/HelloWorld',
    signatures: [
      {
        sig: 'A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA==',
      },
    ],
  },
  /** The public point, in decimal. */
  key: {
    x: '46950820868899156662930047687818585632848591499744589407958293238635476079160',
    y: '5640078356564379163099075877009565129882514886557779369047442380624545832820',
  },
};
