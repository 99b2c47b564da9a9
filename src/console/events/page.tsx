/** One event, as a link in a report names it: what it is, its run, and the proof of the run. */
import { useLoad } from '../browser/load.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { NotLoaded } from '../parts/not-loaded.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { EventDetails } from '../runs/entry-details.tsx';

const up = { name: 'Events', path: ['events'] } as const;

export function EventPage({ params: { eventId = '' } }: PageProps) {
  const { client } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) => (await client.getEvent({ params: { eventId }, signal })).body,
    `event ${eventId}`,
  );
  if (data === undefined)
    return <NotLoaded title="Event" up={up} what="the event" error={error} retry={reload} />;
  const { runId } = data;
  return (
    <>
      <PageHead
        title="Event"
        up={up}
        actions={
          <>
            <a class="button" href={linkTo(['runs', runId], { event: eventId })}>
              In its run
            </a>
            <a class="button" href={linkTo(['runs', runId], { tab: 'graph', event: eventId })}>
              Causes and effects
            </a>
            <a class="button main" href={linkTo(['runs', runId], { tab: 'proof' })}>
              Proof of the run
            </a>
          </>
        }
      >
        Of run <a href={linkTo(['runs', runId])}>{runId}</a>
      </PageHead>
      <EventDetails event={data} />
    </>
  );
}
