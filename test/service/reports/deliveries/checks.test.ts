import { expect, it } from 'vitest';
import { GovError } from '../../../../src/contract/problems.ts';
import type { DeliveryInput } from '../../../../src/contract/report-parts.ts';
import { checkDeliveries } from '../../../../src/service/reports/deliveries/checks.ts';
import type { Outbound } from '../../../../src/service/hosting/outbound.ts';

const unused = (): never => {
  throw new Error('expected no message');
};
const outbound: Outbound = { post: unused, mail: unused, file: unused };

const secret = `whsec_${Buffer.alloc(24).toString('base64')}`;

const pointerOf = (
  { secret: given, ...input }: DeliveryInput,
  kind: 'once' | 'schedule' = 'once',
): string | null => {
  const needed = input.channel === 'webhook' ? (given ?? secret) : given;
  try {
    const made = needed === undefined ? input : { ...input, secret: needed };
    checkDeliveries({ outbound }, [made], ['pdf', 'csv'], kind);
    return null;
  } catch (error) {
    return error instanceof GovError ? (error.errors[0]?.pointer ?? '') : 'another error';
  }
};

it.each([
  ['webhook', 'https://hooks.example/reports?team=1'],
  ['email', 'ada.lovelace+audit@example.org'],
  ['file', 'audit/2026/march.pdf'],
  ['file', '{template}/{date}-{executionId}.{format}'],
] as const)('a delivery by %s to %s is accepted', (channel, target) => {
  expect(pointerOf({ channel, target, format: 'pdf' })).toBe(null);
});

it.each([
  ['webhook', 'http://hooks.example/'],
  ['webhook', 'https://ada:word@hooks.example/'],
  ['webhook', 'hooks.example'],
  ['webhook', 'https://hooks.example/…'],
  ['email', 'ada@example.org, eve@example.org'],
  ['email', 'Ada <ada@example.org>'],
  ['email', 'ada@example.org\r\nBcc: eve@example.org'],
  ['file', '../outside.pdf'],
  ['file', '/etc/passwd'],
  ['file', 'a/../../b.pdf'],
  ['file', 'a\\b.pdf'],
  ['file', '.hidden'],
  ['file', '{date}/../../x'],
  ['file', '{user}.pdf'],
  ['file', '..{date}'],
  // with the longest name of a template it has 201 characters
  ['file', `${'a'.repeat(178)}-{template}`],
] as const)('a delivery by %s to %s is refused for its target', (channel, target) => {
  expect(pointerOf({ channel, target, format: 'pdf' })).toBe('/deliveries/0/target');
});

it('a delivery of a format that the report does not have is refused', () => {
  expect(pointerOf({ channel: 'file', target: 'a.json', format: 'json' })).toBe('/deliveries/0/format');
});

it.each(['email', 'file'] as const)('a delivery by %s is refused where it is not configured', (channel) => {
  const target = { email: 'a@b.example', file: 'a.pdf' }[channel];
  try {
    checkDeliveries({ outbound: { post: unused } }, [{ channel, target, format: 'pdf' }], ['pdf']);
    expect.unreachable();
  } catch (error) {
    expect((error as GovError).errors[0]?.pointer).toBe('/deliveries/0/channel');
  }
});

it('a webhook is refused without a secret, and with one that is too short', () => {
  const input = { channel: 'webhook', target: 'https://a.example/', format: 'pdf' } as const;
  const check = (change: object) => () => checkDeliveries({ outbound }, [{ ...input, ...change }], ['pdf']);
  expect(check({})).toThrow('a secret that signs the webhook');
  expect(check({ secret: `whsec_${Buffer.alloc(23).toString('base64')}` })).toThrow('24 to 64 bytes');
  expect(check({ secret: `whsec_${Buffer.alloc(65).toString('base64')}` })).toThrow('24 to 64 bytes');
  expect(check({ secret: `whsec_${Buffer.alloc(64).toString('base64')}` })).not.toThrow();
});

it('a secret for a channel that signs nothing is refused', () => {
  expect(pointerOf({ channel: 'email', target: 'a@b.example', format: 'pdf', secret })).toBe(
    '/deliveries/0/secret',
  );
});

it('the file of a schedule needs a name that differs each time', () => {
  const file = (target: string) => pointerOf({ channel: 'file', target, format: 'pdf' }, 'schedule');
  expect(file('report.pdf')).toBe('/deliveries/0/target');
  expect(file('{template}.{format}')).toBe('/deliveries/0/target');
  expect(file('{date}.pdf')).toBe(null);
  expect(file('reports/{executionId}.pdf')).toBe(null);
});
