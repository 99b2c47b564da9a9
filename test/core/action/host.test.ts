import { BlockList, isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostOf, hostTest } from '../../../src/core/action/host.ts';

describe('hosts of URLs', () => {
  it.each([
    ['https://Example.COM./x?y#z', 'example.com'],
    ['http://good.com@evil.com/', 'evil.com'],
    ['http://user:secret@evil.com:8080/', 'evil.com'],
    ['example.com:8080/x', 'example.com'],
    ['localhost:3000', 'localhost'],
    ['ssh://git@github.com:22/x', 'github.com'],
    ['http://ｅxample.com', 'example.com'],
    ['http://bücher.de', 'xn--bcher-kva.de'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://2130706433', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['http://017700000001/', '127.0.0.1'],
    ['http://[::ffff:127.0.0.1]/', '127.0.0.1'],
    ['http://[0:0:0:0:0:ffff:7f00:1]/', '127.0.0.1'],
    ['https://[64:ff9b::a9fe:a9fe]/', '169.254.169.254'],
    ['http://[2001:DB8:0:0:0:0:0:1]:80', '2001:db8::1'],
  ])('the host of %j is %j', (text, host) => {
    expect(hostOf(text)).toBe(host);
  });

  it.each([
    '',
    'http://',
    'http://a\\@b',
    'http://a	b',
    'x y',
    '//evil.com/x',
    'https:///evil.com',
    'http:evil.com',
    'http://a@b@c/',
    'http://%65vil.com',
    'http://faß.de',
    'mailto:a@b',
    'data:text/plain,x',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'git@github.com:a/b',
    '1.2.3.4:x@good.com/y',
    'http:0/',
    'https:127',
    'http://{127.0.0.1,good.com}:9/',
    'http://loc{alhost}/',
    'http://good.com{,@evil.com}/',
    'http://a{@good.com/,.evil.com}',
    'http://faẞ.de',
    'http://a,b',
    'a.b:99999',
    'http://999.1.1.1',
    'http://[fe80::1%25eth0]/',
  ])('the text %j has no host that all programs agree on', (text) => {
    expect(hostOf(text)).toBeNull();
  });
});

describe('sets of hosts', () => {
  const holds = (pattern: string, host: string) => hostTest(pattern)?.(hostOf(host) ?? '');

  it.each([
    ['example.com', 'https://example.com/x', true],
    ['example.com', 'https://example.com.evil.com', false],
    ['example.com', 'https://api.example.com', false],
    ['*.example.com', 'https://api.example.com', true],
    ['*.example.com', 'https://a.b.example.com', true],
    ['*.example.com', 'https://example.com', false],
    ['*.example.com', 'https://evilexample.com', false],
    ['10.0.0.0/8', 'http://10.200.3.4', true],
    ['10.0.0.0/8', 'http://11.0.0.1', false],
    ['10.0.0.0/8', 'http://[::ffff:10.1.1.1]', true],
    ['fd00::/8', 'http://[fd12::1]', true],
    ['fd00::/8', 'http://10.0.0.1', false],
    ['0.0.0.0/0', 'http://8.8.8.8', true],
    ['[::1]', 'http://[0:0:0:0:0:0:0:1]', true],
    ['private', 'http://169.254.169.254/latest/meta-data', true],
    ['private', 'http://192.168.1.1', true],
    ['private', 'http://[::1]', true],
    ['private', 'http://[fe80::1]', true],
    ['private', 'http://db.localhost', true],
    ['private', 'http://8.8.8.8', false],
    ['private', 'http://example.com', false],
  ])('the set %j and the URL %j: %j', (pattern, url, expected) => {
    expect(holds(pattern, url)).toBe(expected);
  });

  it.each([
    '',
    '*',
    '*.',
    'http://x.com',
    'a/b',
    'x@y',
    'exa mple',
    '10.0.0.0/33',
    '::/129',
    '*.1.2.3.4',
    '300.0.0.0/8',
  ])('the text %j is no set of hosts', (pattern) => {
    expect(hostTest(pattern)).toBeNull();
  });

  it('a network contains the addresses that Node says', () => {
    const networks = fc.oneof(
      fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })),
      fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 })),
    );
    const bits = fc.integer({ min: 0, max: 127 });
    fc.assert(
      fc.property(networks, fc.oneof(fc.ipV4(), fc.ipV6()), bits, ([address, prefix], random, flipped) => {
        // URLs write IPv6 without an IPv4 part
        const plain = hostOf(isIP(address) === 6 ? `[${address}]` : address) ?? '';
        fc.pre(isIP(plain) === isIP(address));
        const list = new BlockList();
        list.addSubnet(plain, prefix, isIP(plain) === 4 ? 'ipv4' : 'ipv6');
        const near = isIP(plain) === 4 ? flip(plain, flipped % 32) : plain;
        for (const host of [plain, near, hostOf(isIP(random) === 6 ? `[${random}]` : random) ?? '']) {
          if (isIP(host) === 0) continue;
          const expected = isIP(host) === isIP(plain) && list.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
          expect(hostTest(`${plain}/${prefix}`)?.(host), `${host} in ${plain}/${prefix}`).toBe(expected);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

/** Changes one bit of an IPv4 address. */
function flip(address: string, bit: number): string {
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const changed = (value ^ (1 << bit)) >>> 0;
  return [24, 16, 8, 0].map((shift) => (changed >>> shift) & 255).join('.');
}
