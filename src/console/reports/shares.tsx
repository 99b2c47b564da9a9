/** Links to a report for people without an account. A link is shown once. */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { ReportFormat } from '../../contract/report-parts.ts';
import type { ReportShare } from '../../contract/reports.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { SecretDialog } from '../parts/secret.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { toneOf } from '../runs/words.ts';

interface SharesProps {
  readonly executionId: string;
  readonly formats: readonly ReportFormat[];
}

const perPage = 50;

export function Shares({ executionId, formats }: SharesProps) {
  const { client, can } = useSession();
  const [isAsking, setAsking] = useState(false);
  const [revoking, setRevoking] = useState<ReportShare | null>(null);
  const [link, setLink] = useState<string | null>(null);
  const paged = usePaged({
    key: `shares ${executionId}`,
    load: async (cursor, signal) =>
      (await client.listShares({ params: { executionId }, query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ shareId }) => shareId,
  });
  const { rows = [] } = paged;
  const canWrite = can('reporting:write');
  const changed = (made: string | null): void => {
    setAsking(false);
    setRevoking(null);
    setLink(made);
    paged.reload();
  };
  return (
    <section class="card">
      <div class="card-head">
        <h2>Share links</h2>
        {canWrite && <Button onClick={() => setAsking(true)}>New link</Button>}
      </div>
      <p class="quiet">Anybody with a link can open the file without an account, until the link expires.</p>
      {rows.length > 0 && (
        <Table
          caption="Share links"
          rows={rows}
          keyOf={({ shareId }) => shareId}
          columns={[
            { name: 'Format', cell: ({ format }) => format },
            { name: 'Status', cell: ({ status }) => <Status tone={toneOf(status)}>{status}</Status> },
            {
              name: 'Downloads',
              kind: 'number',
              cell: ({ downloadCount, maxDownloads }) =>
                maxDownloads === null ? downloadCount : `${downloadCount} of ${maxDownloads}`,
            },
            { name: 'Expires', kind: 'wide', cell: ({ expiresAt }) => <Time at={expiresAt} ahead /> },
            {
              name: 'Actions',
              cell: (share) =>
                canWrite &&
                share.status === 'active' && (
                  <Button kind="quiet" onClick={() => setRevoking(share)}>
                    Revoke
                  </Button>
                ),
            },
          ]}
        />
      )}
      {(rows.length > 0 || paged.error !== null) && <PagedFoot paged={paged} noun="links" />}
      {isAsking && (
        <NewLink executionId={executionId} formats={formats} close={() => setAsking(false)} made={changed} />
      )}
      {revoking !== null && (
        <Revoke
          executionId={executionId}
          share={revoking}
          close={() => setRevoking(null)}
          revoked={() => changed(null)}
        />
      )}
      {link !== null && <SecretDialog title="The link" secret={link} close={() => setLink(null)} />}
    </section>
  );
}

interface RevokeProps {
  readonly executionId: string;
  readonly share: ReportShare;
  readonly close: () => void;
  readonly revoked: () => void;
}

function Revoke({ executionId, share: { shareId }, close, revoked }: RevokeProps) {
  const { client } = useSession();
  const work = async (signal: AbortSignal): Promise<void> => {
    await client.revokeShare({ params: { executionId, shareId }, signal });
    revoked();
  };
  return (
    <ConfirmDialog title="Revoke the link" verb="Revoke" isDangerous work={work} close={close}>
      <p>The link stops working at once.</p>
    </ConfirmDialog>
  );
}

interface NewLinkProps extends SharesProps {
  readonly close: () => void;
  /** Gets the link, which nobody can read again. */
  readonly made: (url: string) => void;
}

const days = [1, 7, 30] as const;
const daySeconds = 86_400;

function NewLink({ executionId, formats, close, made }: NewLinkProps) {
  const { client } = useSession();
  const [format, setFormat] = useState(formats[0] ?? 'pdf');
  const [seconds, setSeconds] = useState<number>(limits.shareSeconds);
  const work = async (signal: AbortSignal): Promise<void> => {
    const body = { format, expiresInSeconds: seconds };
    made((await client.createShare({ params: { executionId }, body, signal })).body.url);
  };
  return (
    <ConfirmDialog title="New link" verb="Create the link" work={work} close={close}>
      <label class="field">
        File
        <select value={format} onChange={(event) => setFormat(event.currentTarget.value as ReportFormat)}>
          {formats.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Works for
        <select value={seconds} onChange={(event) => setSeconds(Number(event.currentTarget.value))}>
          {days.map((count) => (
            <option key={count} value={count * daySeconds}>
              {count === 1 ? 'a day' : `${count} days`}
            </option>
          ))}
        </select>
      </label>
    </ConfirmDialog>
  );
}
