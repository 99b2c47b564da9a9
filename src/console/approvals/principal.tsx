/** Who asked or decided: the name of the approver, key or person, then its id. Tested by `test/console/approvals.test.ts`. */
import { RemoteLine } from '../parts/remote-text.tsx';

interface PrincipalProps {
  readonly id: string;
  /** Undefined from a server of an older release. */
  readonly name: string | null | undefined;
}

export const Principal = ({ id, name }: PrincipalProps) =>
  name ? (
    <>
      <RemoteLine text={name} /> <span class="quiet mono">{id}</span>
    </>
  ) : (
    <code>{id}</code>
  );
