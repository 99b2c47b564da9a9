import { expect, it } from 'vitest';
import { maskedTarget } from '../../../src/service/outbox/masked.ts';

it.each([
  ['webhook', 'https://hooks.example/services/T0/B0/secret?token=1', 'https://hooks.example/…'],
  ['webhook', 'https://user:word@hooks.example:8443/', 'https://hooks.example:8443'],
  ['webhook', 'not a URL', '…'],
  ['email', 'ada.lovelace@example.org', 'a…@example.org'],
  ['email', '@example.org', '…'],
  ['file', 'audit/2026-03.pdf', 'audit/2026-03.pdf'],
] as const)('the target of a %s delivery hides what may be secret: %s', (channel, target, masked) => {
  expect(maskedTarget(channel, target)).toBe(masked);
});
