import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Addresses } from '../../../src/http/admit/address.ts';

/** The address of a request of this peer, with this header. */
const from = (proxies: readonly string[], peer: string, forwarded?: string): string =>
  new Addresses(proxies).of({
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage);

describe('the address of a client', () => {
  it('a client address is the peer of the socket when no proxy is trusted, whatever the headers say', () => {
    expect(from([], '192.0.2.1', '203.0.113.9')).toBe('192.0.2.1');
    expect(from(['10.0.0.0/8'], '192.0.2.1', '203.0.113.9')).toBe('192.0.2.1');
  });

  it('a client address is the one in the header of a trusted proxy, past every other trusted proxy', () => {
    expect(from(['10.0.0.0/8'], '10.1.2.3', '203.0.113.9')).toBe('203.0.113.9');
    expect(from(['10.0.0.0/8'], '10.1.2.3', '203.0.113.9, 10.9.9.9')).toBe('203.0.113.9');
    expect(from(['10.0.0.0/8'], '::ffff:10.1.2.3', '203.0.113.9')).toBe('203.0.113.9');
    expect(from(['::1'], '::1', '203.0.113.9')).toBe('203.0.113.9');
  });

  it('a client address is never one that the client itself put further left in the header', () => {
    expect(from(['10.0.0.0/8'], '10.1.2.3', '198.51.100.7, 203.0.113.9')).toBe('203.0.113.9');
    expect(from(['10.0.0.0/8'], '10.1.2.3', '10.7.7.7, 203.0.113.9, 10.9.9.9')).toBe('203.0.113.9');
  });

  it('a client address is the last valid one when the header becomes invalid further left', () => {
    expect(from(['10.0.0.0/8'], '10.1.2.3')).toBe('10.1.2.3');
    expect(from(['10.0.0.0/8'], '10.1.2.3', '')).toBe('10.1.2.3');
    expect(from(['10.0.0.0/8'], '10.1.2.3', 'unknown, 10.9.9.9')).toBe('10.9.9.9');
    expect(from(['10.0.0.0/8'], '10.1.2.3', '203.0.113.9, <script>')).toBe('10.1.2.3');
  });

  it('a client address is read without its port', () => {
    expect(from(['10.0.0.1'], '10.0.0.1', '203.0.113.9:4711')).toBe('203.0.113.9');
    expect(from(['10.0.0.1'], '10.0.0.1', '[2001:db8::9]:4711')).toBe('2001:db8:0:0::/64');
  });

  it('a client address of an IPv6 host is its /64 in every spelling', () => {
    const same = ['2001:db8::1', '2001:DB8:0:0:ffff::2', '2001:0db8:0000:0000:1:2:3:4', '2001:db8::9%eth0'];
    expect(new Set(same.map((peer) => from([], peer)))).toEqual(new Set(['2001:db8:0:0::/64']));
    expect(from([], '2001:db8:0:1::1')).toBe('2001:db8:0:1::/64');
    expect(from([], '::1')).toBe('0:0:0:0::/64');
    expect(from([], '::ffff:192.0.2.1')).toBe('192.0.2.1');
  });

  it.each(['', 'localhost', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0/8', '*'])(
    'the configuration rejects the trusted proxy %j, which is neither an address nor a subnet',
    (text) => {
      expect(() => new Addresses([text])).toThrow(/expected trusted proxies/);
    },
  );
});
