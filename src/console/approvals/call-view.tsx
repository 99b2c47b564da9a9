/**
 * The call that waits, above the button that approves it: what is hidden in it, its arguments, and the text that is signed.
 * Tested by `test/console/hostile.test.ts`.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownApproval } from '../../contract/approvals.ts';
import { limits } from '../../contract/limits.ts';
import { viewText } from '../../core/decided/view.ts';
import { hiddenNotices } from '../../core/hidden-text.ts';
import { linkTo } from '../browser/router.ts';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { save } from '../parts/download.ts';
import { RemoteJson, RemoteLine, RemoteText } from '../parts/remote-text.tsx';
import { actorName, leavesOf, toolName } from './call.ts';

interface CallProps {
  readonly approval: ShownApproval;
  /** Called once the end of all arguments was on the screen, or a call too long for it was downloaded. */
  readonly seen: () => void;
}

export function Call({ approval, seen }: CallProps) {
  const { actor, arguments: given, context, tool, runId } = approval;
  const bytes = bytesOf(given) + bytesOf(context);
  const name = actorName(actor);
  return (
    <section class="card" aria-labelledby="call">
      <div class="card-head">
        <h2 id="call">What will run</h2>
      </div>
      <p class="lead">
        {name === null ? (
          'An agent'
        ) : (
          <strong>
            <RemoteLine text={name} />
          </strong>
        )}{' '}
        wants to call{' '}
        <strong>
          <RemoteLine text={toolName(approval)} />
        </strong>
        {given !== null && Object.keys(given).length === 0 && ' without arguments'}.
      </p>
      <Hidden approval={approval} />
      {given === null && tool !== null && <p class="quiet">The arguments were erased.</p>}
      {bytes > limits.approvalShownBytes ? (
        <LongCall approval={approval} bytes={bytes} seen={seen} />
      ) : (
        <ShortCall approval={approval} seen={seen} />
      )}
      <p class="quiet">
        In run <a href={linkTo(['runs', runId])}>{runId}</a>
      </p>
    </section>
  );
}

const bytesOf = (value: object | null): number => new Blob([JSON.stringify(value)]).size;

/** What the eye does not see in the call. */
function Hidden({ approval }: Pick<CallProps, 'approval'>) {
  const notices = hiddenNotices(approval);
  if (notices.length === 0) return null;
  return (
    <ul class="hidden-text" aria-label="Hidden text">
      {notices.map((notice, at) => (
        <li key={at}>
          <RemoteLine text={notice} />
        </li>
      ))}
    </ul>
  );
}

function ShortCall({ approval, seen }: CallProps) {
  const { arguments: given, context } = approval;
  const [isWhole, setWhole] = useState(false);
  const { leaves, more } = leavesOf(given ?? {}, { isWhole });
  const isCut = more > 0 || leaves.some(({ cut }) => cut > 0);
  return (
    <>
      {leaves.length > 0 && (
        <dl class="facts arguments">
          {leaves.map(({ path, text, cut }, at) => (
            <div key={at}>
              <dt>
                <RemoteLine text={path} />
              </dt>
              <dd>
                <RemoteLine text={text} />
                {cut > 0 && <span class="quiet"> … {counted(cut, 'more character')}</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {more > 0 && <p class="quiet">{counted(more, 'more value')}</p>}
      {isCut ? <Button onClick={() => setWhole(true)}>Show all arguments</Button> : <End seen={seen} />}
      {given !== null && (
        <details>
          <summary>Arguments in full</summary>
          <RemoteJson value={given} label="Arguments in full" whole />
        </details>
      )}
      {context !== null && (
        <details>
          <summary>What else the policies saw</summary>
          <RemoteJson value={context} label="Context" whole />
        </details>
      )}
      <details>
        <summary>As signed</summary>
        <RemoteText text={viewText(approval)} label="As signed" whole />
      </details>
    </>
  );
}

/** The end of the arguments: says once that it was on the screen. */
function End({ seen }: Pick<CallProps, 'seen'>) {
  const end = useRef<HTMLDivElement>(null);
  const told = useRef(seen);
  told.current = seen;
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      told.current();
    });
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  return <div ref={end} class="end" />;
}

function LongCall({ approval, bytes, seen }: CallProps & { readonly bytes: number }) {
  const { approvalId } = approval;
  return (
    <>
      <p>
        The call has {counted(bytes, 'byte')}, more than this page shows. Read it in a file, or with{' '}
        <code>gov approvals show {approvalId} --signed</code>.
      </p>
      <Button
        onClick={() => {
          save(new Blob([viewText(approval)], { type: 'application/json' }), `${approvalId}.json`);
          seen();
        }}
      >
        Download the call
      </Button>
    </>
  );
}
