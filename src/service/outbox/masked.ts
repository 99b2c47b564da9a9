/** Targets of deliveries as the interface shows them. Proven by `test/service/outbox/masked.test.ts`. */
import type { DeliveryInput } from '../../contract/report-parts.ts';

/** Whether somebody copied the address of an answer, which would send to a path that nobody has. */
export const isMasked = (url: string): boolean => url.endsWith('/…');

/**
 * Hides what may be secret: the path and query of a URL, and most of the name in an e-mail address. File names are
 * shown whole.
 */
export function maskedTarget(channel: DeliveryInput['channel'], target: string): string {
  switch (channel) {
    case 'file':
      return target;
    case 'webhook': {
      if (!URL.canParse(target)) return '…';
      const { origin, pathname, search } = new URL(target);
      return pathname === '/' && search === '' ? origin : `${origin}/…`;
    }
    case 'email': {
      const at = target.lastIndexOf('@');
      return at < 1 ? '…' : `${target.slice(0, 1)}…${target.slice(at)}`;
    }
  }
}
