import { expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import type { DeliveryInput } from '../../../src/contract/report-parts.ts';
import { checkDeliveries } from '../../../src/service/deliveries/checks.ts';
import type { Outbound } from '../../../src/service/outbound.ts';

const unused = (): never => {
  throw new Error('expected no message');
};
const outbound: Outbound = { post: unused, mail: unused, file: unused };

const pointerOf = (input: DeliveryInput, configured: Outbound | undefined = outbound): string | null => {
  try {
    checkDeliveries(configured === undefined ? {} : { outbound: configured }, [input], ['pdf', 'csv']);
    return null;
  } catch (error) {
    return error instanceof GovError ? (error.errors[0]?.pointer ?? '') : 'another error';
  }
};

it.each([
  ['webhook', 'https://hooks.example/reports?team=1'],
  ['email', 'ada.lovelace+audit@example.org'],
  ['file', 'audit/2026/march.pdf'],
] as const)('a delivery by %s to %s is accepted', (channel, target) => {
  expect(pointerOf({ channel, target, format: 'pdf' })).toBe(null);
});

it.each([
  ['webhook', 'http://hooks.example/'],
  ['webhook', 'https://ada:word@hooks.example/'],
  ['webhook', 'hooks.example'],
  ['email', 'ada@example.org, eve@example.org'],
  ['email', 'Ada <ada@example.org>'],
  ['email', 'ada@example.org\r\nBcc: eve@example.org'],
  ['file', '../outside.pdf'],
  ['file', '/etc/passwd'],
  ['file', 'a/../../b.pdf'],
  ['file', 'a\\b.pdf'],
  ['file', '.hidden'],
] as const)('a delivery by %s to %s is refused for its target', (channel, target) => {
  expect(pointerOf({ channel, target, format: 'pdf' })).toBe('/deliveries/0/target');
});

it('a delivery of a format that the report does not have is refused', () => {
  expect(pointerOf({ channel: 'file', target: 'a.json', format: 'json' })).toBe('/deliveries/0/format');
});

it.each([
  ['webhook', undefined],
  ['email', { post: unused }],
  ['file', { post: unused }],
] as const)('a delivery by %s is refused where the channel is not configured', (channel, configured) => {
  const target = { webhook: 'https://a.example/', email: 'a@b.example', file: 'a.pdf' }[channel];
  const input = { channel, target, format: 'pdf' } as const;
  try {
    checkDeliveries(configured === undefined ? {} : { outbound: configured }, [input], ['pdf']);
    expect.unreachable();
  } catch (error) {
    expect((error as GovError).errors[0]?.pointer).toBe('/deliveries/0/channel');
  }
});
