/** Answers that both grants of the development issuer give, and whom they name. */
import { limits } from '../../contract/limits.ts';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> | string;
  readonly headers?: { readonly location?: string; readonly formAction?: string };
}

/** A person who typed an address, when, and for which request. */
export interface DevIdentity {
  readonly email: string;
  readonly atMs: number;
  readonly nonce: string | null;
}

export const refused = (status: number, error: string): Answer => ({ status, body: { error } });

/** The address in a form, in small letters; null for other text. */
export function emailOf(form: URLSearchParams): string | null {
  const email = (form.get('email') ?? '').trim().toLowerCase();
  return email.length <= limits.subjectChars && /^[^\s@]+@[^\s@]+$/.test(email) ? email : null;
}
