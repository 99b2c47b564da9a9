/** The projects of the organization: choose one to work on, and require two people. Tested by `test/console/hosted.test.ts`. */
import { useState } from 'preact/hooks';
import { environments, type Environment } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import type { ListedProject, ProjectSettings } from '../../contract/projects.ts';
import { useLoad } from '../browser/load.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs } from '../parts/dialogs.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

export function Projects() {
  const { client, identity, can, chooseProject, refresh } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) => (await client.listProjects({ signal })).body.data,
    'projects',
    { everyMs: 10_000 },
  );
  const { ask, dialogs } = useDialogs(() => {
    reload();
    void refresh();
  });
  const create = (): void => ask(({ close, done }) => <NewProject close={close} made={() => done()} />);
  const choice = ({ id, environment }: ListedProject) =>
    id === identity.projectId ? (
      <Status tone="good">in use</Status>
    ) : (
      <Button onClick={() => chooseProject({ id, environment })}>Work on it</Button>
    );
  return (
    <>
      <PageHead
        title="Projects"
        actions={
          can('projects:write') && (
            <Button kind="main" onClick={create}>
              New project
            </Button>
          )
        }
      >
        Of <RemoteLine text={identity.organizationName ?? identity.organizationId} />
      </PageHead>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {data === undefined && error === null && <Loading what="the projects" />}
      {data !== undefined && (
        <Table
          caption="Projects"
          rows={data}
          keyOf={({ id }) => id}
          columns={[
            {
              name: 'Project',
              kind: 'wide',
              cell: ({ name, id }) => (
                <>
                  <RemoteLine text={name} />
                  <div class="quiet small">
                    <code>{id}</code>
                  </div>
                </>
              ),
            },
            { name: 'Environment', cell: ({ environment }) => environment },
            { name: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
            { name: 'Use', cell: choice },
          ]}
        />
      )}
      <Settings key={identity.projectId} />
      {dialogs}
    </>
  );
}

const twoPeople = [
  ['requireTwoPersonPublish', 'A policy version needs two credentials: one writes it, another publishes it.'],
  ['requireTwoPersonErasure', 'An erasure needs two credentials: one requests it, another executes it.'],
] as const;

/** Settings of the project in use that people change here; the others are shown. */
function Settings() {
  const { client, identity, can } = useSession();
  const params = { projectId: identity.projectId };
  const { data, error, reload } = useLoad(
    async (signal) => (await client.getProject({ params, signal })).body,
    `project ${identity.projectId}`,
  );
  const { isBusy, error: failure, run } = useAction(reload);
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return null;
  const { settings, name } = data;
  const set = (change: Partial<ProjectSettings>): void =>
    run((signal) => client.updateProject({ params, body: { settings: change }, signal }));
  return (
    <section class="card section">
      <h2>
        Settings of <RemoteLine text={name} />
      </h2>
      <div class="choices">
        {twoPeople.map(([setting, text]) => (
          <label key={setting} class="choice">
            <input
              type="checkbox"
              checked={settings[setting]}
              disabled={isBusy || !can('projects:write')}
              onChange={(event) => set({ [setting]: event.currentTarget.checked })}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
      <dl class="facts">
        <dt>Bodies kept</dt>
        <dd>{settings.retentionDays === null ? 'without end' : `${settings.retentionDays} days`}</dd>
        <dt>Time zone</dt>
        <dd>{settings.timezone}</dd>
        <dt>Over a quota</dt>
        <dd>{settings.quotaMode === 'block' ? 'refuse' : 'count as overage'}</dd>
        <dt>Content of telemetry</dt>
        <dd>{settings.contentCapture}</dd>
        <dt>Redacted values</dt>
        <dd>{settings.redactionKeys.length === 0 ? 'none' : settings.redactionKeys.join(', ')}</dd>
      </dl>
      {failure !== null && <ErrorBox error={failure} />}
    </section>
  );
}

interface NewProjectProps {
  readonly close: () => void;
  readonly made: (project: { readonly id: string; readonly environment: Environment }) => void;
}

export function NewProject({ close, made }: NewProjectProps) {
  const { client } = useSession();
  const [name, setName] = useState('');
  const [environment, setEnvironment] = useState<Environment>('sandbox');
  const work = async (signal: AbortSignal): Promise<void> => {
    const { body } = await client.createProject({ body: { name: name.trim(), environment }, signal });
    made({ id: body.id, environment });
  };
  return (
    <ConfirmDialog title="New project" verb="Create the project" work={work} close={close}>
      <TextField label="Name" name="name" value={name} set={setName} maxLength={limits.projectNameChars} />
      <SelectField
        label="Environment"
        name="environment"
        value={environment}
        set={setEnvironment}
        options={environments.map((each) => [each, each])}
      />
    </ConfirmDialog>
  );
}
