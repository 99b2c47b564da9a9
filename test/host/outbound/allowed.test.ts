import { describe, expect, it } from 'vitest';
import { AllowList } from '../../../src/host/outbound/allowed.ts';

const allowed = (...entries: string[]) => new AllowList(entries, 'plane.json /outboundAllow');

describe('Allowed', () => {
  it('allows the usual ports of a host without a port, and no others', () => {
    const list = allowed('hooks.corp.example');
    expect([443, 8443, 80].map((port) => list.has('hooks.corp.example', '10.0.0.1', port))).toEqual([
      true,
      true,
      false,
    ]);
    expect(list.has('other.corp.example', '10.0.0.1', 443)).toBe(false);
  });

  it('allows only the port of an entry that has one', () => {
    const list = allowed('Hooks.Corp.Example:9443', '10.1.0.0/16:7443', '[fd00::/8]:6443', '[::1]:5443');
    expect(list.has('hooks.corp.example', '192.168.0.1', 9443)).toBe(true);
    expect(list.has('hooks.corp.example', '192.168.0.1', 443)).toBe(false);
    expect(list.has('a.example', '10.1.2.3', 7443)).toBe(true);
    expect(list.has('a.example', '10.2.2.3', 7443)).toBe(false);
    expect(list.has('a.example', 'fd00::1', 6443)).toBe(true);
    expect(list.has('a.example', '::1', 5443)).toBe(true);
    expect([9443, 7443, 6443, 5443, 443].map((port) => list.hasPort(port))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it.each([
    '',
    'https://hooks.example',
    '10.0.0.0/33',
    'a b',
    'host:0',
    'host:70000',
    '[host]:1',
    'host/8',
    '*',
  ])('rejects the entry %j and names the member', (entry) => {
    expect(() => allowed(entry)).toThrow(
      'plane.json /outboundAllow: expected a host, an address or a network',
    );
  });
});
