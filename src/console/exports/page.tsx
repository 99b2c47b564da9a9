/** Exports: files of whole resources, and a form for another one. Tested by `test/console/lists.test.ts`. */
import { useState } from 'preact/hooks';
import { isOpen } from '../../contract/job-words.ts';
import type { ExportJob, ExportResource } from '../../contract/exports.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds, type Dialogs } from '../parts/dialogs.tsx';
import { download } from '../parts/download.ts';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { sizeText } from '../parts/size.ts';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

const resources: Readonly<Record<ExportResource, string>> = {
  audit_events: 'Events',
  compliance_proofs: 'Proofs',
  risk_decisions: 'Risk decisions',
  replays: 'Replays',
  causal_graphs: 'Causal graphs',
  policy_evaluations: 'Policy evaluations',
  jobs: 'Jobs',
};

export function Exports() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'exports',
    load: (query, signal) => client.listExports({ query, signal }),
    idOf: ({ exportId }) => exportId,
    isBusy: ({ status }) => isOpen(status),
  });
  const { ask, dialogs } = useDialogs(paged.reload);
  const action = can('exports:write') && (
    <Button kind="main" onClick={() => ask(NewExport)}>
      New export
    </Button>
  );
  return (
    <>
      <PageHead title="Exports" actions={action}>
        Files that others can verify without this service.
      </PageHead>
      <PagedTable
        paged={paged}
        noun="exports"
        caption="Exports"
        empty={<Empty title="No exports yet">An export is a file of all rows of a resource.</Empty>}
        columns={[
          {
            name: 'Export',
            kind: 'wide',
            cell: ({ resource, format, filters, includeProof }) => (
              <>
                {resources[resource]}, {format}
                {includeProof && ', with proof'}
                {filters.runId !== undefined && <div class="quiet small">run {filters.runId}</div>}
              </>
            ),
          },
          { name: 'Status', cell: (row) => <State row={row} /> },
          {
            name: 'Rows',
            kind: 'number',
            cell: ({ rowCount }) => (rowCount === null ? '–' : rowCount.toLocaleString('en')),
          },
          { name: 'Size', kind: 'number', cell: ({ sizeBytes }) => sizeText(sizeBytes) },
          { name: 'Requested', cell: ({ createdAt }) => <Time at={createdAt} /> },
          { name: 'File', cell: (row) => <File row={row} ask={ask} changed={paged.reload} /> },
        ]}
      />
      {dialogs}
    </>
  );
}

const State = ({ row: { status, errorSummary } }: { readonly row: ExportJob }) => (
  <>
    <Status>{status}</Status>
    {errorSummary !== null && (
      <div class="quiet small">
        <RemoteLine text={errorSummary} />
      </div>
    )}
  </>
);

interface FileProps extends Pick<Dialogs, 'ask'> {
  readonly row: ExportJob;
  readonly changed: () => void;
}

function File({ row: { exportId, format, resource, status }, ask, changed }: FileProps) {
  const session = useSession();
  const { isBusy, error, run } = useAction();
  if (isOpen(status) && session.can('exports:write')) return <Cancel exportId={exportId} changed={changed} />;
  if (status !== 'completed') return null;
  const save = (): void =>
    run((signal) =>
      download(session, {
        path: `/exports/${exportId}/download`,
        name: `${resource}-${exportId}.${format}`,
        signal,
      }),
    );
  const remove = (): void =>
    ask((ends) => (
      <ConfirmDialog
        {...ends}
        title="Delete the file"
        verb="Delete"
        isDangerous
        work={(signal) => session.client.deleteExport({ params: { exportId }, signal })}
      >
        <p>The export stays in the list. Its file is gone, but another export can be made.</p>
      </ConfirmDialog>
    ));
  return (
    <div class="row-actions">
      <Button onClick={save} isBusy={isBusy}>
        Download
      </Button>
      {session.can('exports:write') && (
        <Button kind="quiet" onClick={remove}>
          Delete
        </Button>
      )}
      {error !== null && <ErrorBox error={error} />}
    </div>
  );
}

function Cancel({ exportId, changed }: { readonly exportId: string; readonly changed: () => void }) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction(changed);
  const cancel = (): void => run((signal) => client.cancelExport({ params: { exportId }, signal }));
  return (
    <div class="row-actions">
      <Button kind="quiet" onClick={cancel} isBusy={isBusy}>
        Cancel
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </div>
  );
}

function NewExport(ends: DialogEnds) {
  const { client } = useSession();
  const [resource, setResource] = useState<ExportResource>('audit_events');
  const [runId, setRunId] = useState('');
  const [isProven, setProven] = useState(true);
  const work = async (signal: AbortSignal): Promise<void> => {
    const filters = runId.trim() === '' ? {} : { filters: { runId: runId.trim() } };
    const body = { resource, format: 'json', includeProof: isProven, ...filters } as const;
    await client.createExport({ body, signal });
  };
  return (
    <ConfirmDialog {...ends} title="New export" verb="Export" work={work}>
      <SelectField
        label="Rows of"
        name="resource"
        value={resource}
        set={setResource}
        options={Object.entries(resources) as [ExportResource, string][]}
      />
      <TextField
        label="Only of the run (optional)"
        name="runId"
        isRequired={false}
        value={runId}
        set={setRunId}
      />
      <label class="choice">
        <input
          type="checkbox"
          checked={isProven}
          onChange={(event) => setProven(event.currentTarget.checked)}
        />
        <span>With the proof of each row's place in the log</span>
      </label>
    </ConfirmDialog>
  );
}
