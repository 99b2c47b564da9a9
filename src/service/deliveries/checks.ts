/**
 * Refuses deliveries that could never succeed, when they are requested: a channel that is not configured, a target of
 * another form. Whether an address is allowed is decided when it is used. Proven by
 * `test/service/deliveries/checks.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import type { DeliveryInput, ReportFormat } from '../../contract/report-parts.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../dependencies.ts';

/** VALIDATION_ERROR. `formats`: those of the report. */
export function checkDeliveries(
  services: Pick<Services, 'outbound'>,
  deliveries: readonly DeliveryInput[],
  formats: readonly ReportFormat[],
): void {
  for (const [at, delivery] of deliveries.entries()) {
    const { channel, target, format } = delivery;
    const refuse = (member: string, code: FieldCode, detail: string): never => {
      throw fieldError({ pointer: `/deliveries/${at}/${member}`, in: 'body', code, detail });
    };
    if (!formats.includes(format)) {
      refuse(
        'format',
        'NOT_ALLOWED',
        `expected a format of the report (${formats.join(', ')}), got ${format}`,
      );
    }
    if (!isConfigured(services, channel)) {
      refuse('channel', 'NOT_ALLOWED', `expected a channel that is configured here, got ${channel}`);
    }
    const expected = faultOf(channel, target);
    if (expected !== null) refuse('target', 'BAD_FORMAT', `expected ${expected}`);
  }
}

function isConfigured({ outbound }: Pick<Services, 'outbound'>, channel: DeliveryInput['channel']): boolean {
  switch (channel) {
    case 'webhook':
      return outbound !== undefined;
    case 'email':
      return outbound?.mail !== undefined;
    case 'file':
      return outbound?.file !== undefined;
  }
}

/** One mailbox (RFC 5321): no display name, no list, no quoted local part. */
const mailbox = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const fileName = /^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*){0,7}$/;
const fileChars = 255;

/** The form that was expected; null for a target of that form. */
function faultOf(channel: DeliveryInput['channel'], target: string): string | null {
  switch (channel) {
    case 'webhook': {
      const url = URL.canParse(target) ? new URL(target) : null;
      const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '';
      return isPlain ? null : 'an https URL without user name and password';
    }
    case 'email':
      return mailbox.test(target) && target.length <= fileChars
        ? null
        : 'one e-mail address, such as ada@example.org';
    case 'file':
      return fileName.test(target) && target.length <= fileChars
        ? null
        : 'a relative file name of letters, digits, dots, hyphens and underscores, without ..';
  }
}
