import { describe, expect, it } from 'vitest';
import { forwardsOf, targetOf, type TargetFile } from '../../../src/host/forwards/config.ts';

const place = { from: 'plane.json /forwards/0', dataDir: '/var/lib/gov' };
const target = (file: Partial<TargetFile>) =>
  targetOf({ name: 'siem', to: 'https://siem.example/in', ...file }, place);
const s3 = {
  to: 's3://siem/audit/',
  region: 'eu-central-1',
  accessKeyId: 'id',
  secretEnv: 'SECRET',
} as const;

describe('targetOf', () => {
  it('gives a syslog target its defaults, and paths below the data directory', () => {
    expect(target({ to: 'syslog+tls://siem.example', ca: 'ca.pem' })).toMatchObject({
      kind: 'syslog',
      host: 'siem.example',
      port: 6514,
      format: 'syslog',
      maxBytes: 8192,
      facility: 13,
      confirm: 'close',
      from: 'now',
      content: 'full',
      tls: { ca: '/var/lib/gov/ca.pem', cert: null },
    });
    expect(target({ to: 'syslog+tcp://[::1]:601' })).toMatchObject({ host: '::1', port: 601 });
  });

  it('gives HTTP and object targets their defaults', () => {
    expect(target({})).toMatchObject({
      kind: 'http',
      format: 'json',
      shape: 'ndjson',
      header: 'authorization',
    });
    expect(target(s3)).toMatchObject({
      kind: 's3',
      bucket: 'siem',
      prefix: 'audit',
      endpoint: null,
      everySeconds: 60,
    });
  });

  it.each<[string, Partial<TargetFile>, string]>([
    ['another scheme', { to: 'udp://siem.example:514' }, '/to: expected syslog+tls://'],
    ['no address', { to: 'siem.example' }, '/to: expected syslog+tls://'],
    ['a password in the address', { to: 'https://me:secret@siem.example' }, 'put the secret into secretFile'],
    ['a path for syslog', { to: 'syslog+tls://siem.example/x' }, 'without a path'],
    [
      'a secret for syslog',
      { to: 'syslog+tls://siem.example', secretEnv: 'A' },
      'authenticate with cert and key',
    ],
    ['certificates without TLS', { to: 'syslog+tcp://siem.example', ca: 'ca.pem' }, 'only for syslog+tls'],
    ['a certificate without its key', { cert: 'c.pem' }, 'cert and key together'],
    ['two places of a secret', { secretEnv: 'A', secretFile: 'b' }, 'secretFile or secretEnv'],
    ['a format of lines over HTTP', { format: 'cef' }, '/format: expected json or ocsf'],
    ['a member of another kind', { facility: 3 }, '/facility: expected no such member'],
    ['objects without a secret', { ...s3, secretEnv: undefined } as never, 'region, accessKeyId'],
  ])('refuses %s', (_, file, message) => {
    expect(() => target(file)).toThrow(message);
    expect(() => target(file)).not.toThrow('me:secret');
  });
});

describe('forwardsOf', () => {
  it('refuses two targets of one name', () => {
    const forwards = [s3, s3].map((each) => ({ name: 'siem', ...each }));
    expect(() => forwardsOf({ forwards }, { path: 'plane.json', dataDir: '/' })).toThrow('a name of its own');
    expect(forwardsOf({}, { path: 'plane.json', dataDir: '/' })).toEqual([]);
  });
});
