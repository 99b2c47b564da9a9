import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { outboundOf } from '../../../src/host/outbound/config.ts';
import { makeAuthority } from '../../support/certificates.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'outbound-'));
const at = { dataDir, path: 'service.json' };

it('without settings only receivers on the Internet are allowed', () => {
  const { allowed, authorities } = outboundOf({}, at);
  expect(allowed.has('localhost', '127.0.0.1', 443)).toBe(false);
  expect(authorities).toBeNull();
});

it('receivers and authorities come from the file, whose paths are relative to the data directory', () => {
  const { cert } = makeAuthority(dataDir);
  const { allowed, authorities } = outboundOf(
    { outboundAllow: ['127.0.0.1:9443'], outboundCa: 'ca.pem' },
    at,
  );
  expect(allowed.has('hook.test', '127.0.0.1', 9443)).toBe(true);
  expect(authorities).toBe(cert);
});

it('an invalid setting is refused with its name', () => {
  expect(() => outboundOf({ outboundAllow: ['https://a'] }, at)).toThrow(
    'service.json /outboundAllow: expected',
  );
  expect(() => outboundOf({ outboundCa: 'missing.pem' }, at)).toThrow(
    'service.json /outboundCa: expected a PEM file',
  );
  writeFileSync(join(dataDir, 'other.pem'), 'other');
  expect(() => outboundOf({ outboundCa: 'other.pem' }, at)).toThrow(
    'service.json /outboundCa: expected a PEM file',
  );
});
