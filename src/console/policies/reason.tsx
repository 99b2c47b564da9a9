/** What a person reads and writes before a version comes in force. */
import { limits } from '../../contract/limits.ts';
import type { PolicyVersion } from '../../contract/policies.ts';
import { useSession } from '../browser/session.tsx';

/** Who wrote the version. The API refuses its author where the project requires two credentials. */
export function AuthorLine({ version: { createdBy } }: { readonly version: PolicyVersion }) {
  const { identity } = useSession();
  return (
    <p class="quiet">
      Written by <code>{createdBy}</code>
      {createdBy === identity.id &&
        ', which is you: a project that requires two credentials wants another one to put it in force'}
      .
    </p>
  );
}

interface ReasonProps {
  readonly value: string;
  readonly set: (reason: string) => void;
}

export const ReasonField = ({ value, set }: ReasonProps) => (
  <label class="field">
    Reason
    <textarea
      name="reason"
      rows={2}
      maxLength={limits.reasonChars}
      value={value}
      onInput={(event) => set(event.currentTarget.value)}
    />
  </label>
);

/** The member of a request; absent for an empty reason. */
export const reasonOf = (text: string): { readonly reason?: string } =>
  text.trim() === '' ? {} : { reason: text.trim() };
