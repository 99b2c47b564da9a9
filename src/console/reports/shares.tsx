/** Links to a report for people without an account. A link is shown once. */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { ReportFormat } from '../../contract/report-parts.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds } from '../parts/dialogs.tsx';
import { SelectField } from '../parts/field.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

interface SharesProps {
  readonly executionId: string;
  readonly formats: readonly ReportFormat[];
}

export function Shares({ executionId, formats }: SharesProps) {
  const { client, can } = useSession();
  const paged = usePaged({
    key: `shares ${executionId}`,
    load: (query, signal) => client.listShares({ params: { executionId }, query, signal }),
    idOf: ({ shareId }) => shareId,
  });
  const { ask, dialogs } = useDialogs(paged.reload, 'The link');
  const canWrite = can('reporting:write');
  const create = (): void => ask((ends) => <NewLink {...{ executionId, formats }} {...ends} />);
  const revoke = (shareId: string): void =>
    ask((ends) => (
      <ConfirmDialog
        {...ends}
        title="Revoke the link"
        verb="Revoke"
        isDangerous
        work={(signal) => client.revokeShare({ params: { executionId, shareId }, signal })}
      >
        <p>The link stops working at once.</p>
      </ConfirmDialog>
    ));
  return (
    <section class="card">
      <div class="card-head">
        <h2>Share links</h2>
        {canWrite && <Button onClick={create}>New link</Button>}
      </div>
      <p class="quiet">Anybody with a link can open the file without an account, until the link expires.</p>
      <PagedTable
        paged={paged}
        noun="links"
        caption="Share links"
        columns={[
          { name: 'Format', cell: ({ format }) => format },
          { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
          {
            name: 'Downloads',
            kind: 'number',
            cell: ({ downloadCount, maxDownloads }) =>
              maxDownloads === null ? downloadCount : `${downloadCount} of ${maxDownloads}`,
          },
          { name: 'Expires', kind: 'wide', cell: ({ expiresAt }) => <Time at={expiresAt} ahead /> },
          {
            name: 'Actions',
            cell: ({ shareId, status }) =>
              canWrite &&
              status === 'active' && (
                <Button kind="quiet" onClick={() => revoke(shareId)}>
                  Revoke
                </Button>
              ),
          },
        ]}
      />
      {dialogs}
    </section>
  );
}

const days = [1, 7, 30] as const;
const daySeconds = 86_400;

function NewLink({ executionId, formats, close, done }: SharesProps & DialogEnds) {
  const { client } = useSession();
  const [format, setFormat] = useState(formats[0] ?? 'pdf');
  const [seconds, setSeconds] = useState(String(limits.shareSeconds));
  const work = async (signal: AbortSignal): Promise<void> => {
    const body = { format, expiresInSeconds: Number(seconds) };
    done((await client.createShare({ params: { executionId }, body, signal })).body.url);
  };
  return (
    <ConfirmDialog title="New link" verb="Create the link" work={work} close={close}>
      <SelectField
        label="File"
        name="format"
        value={format}
        set={setFormat}
        options={formats.map((each) => [each, each])}
      />
      <SelectField
        label="Works for"
        name="expiresInSeconds"
        value={seconds}
        set={setSeconds}
        options={days.map((count) => [String(count * daySeconds), count === 1 ? 'a day' : `${count} days`])}
      />
    </ConfirmDialog>
  );
}
