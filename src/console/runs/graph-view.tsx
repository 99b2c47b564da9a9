/** The causal graph of a run, drawn; a click shows what led to an event and what followed. */
import { useMemo } from 'preact/hooks';
import type { AuditEvent } from '../../contract/events.ts';
import type { GraphNode } from '../../contract/graphs.ts';
import { visibleLine } from '../../core/visible.ts';
import { useLoad } from '../browser/load.ts';
import { useSession } from '../browser/session.tsx';
import { counted } from '../parts/counted.ts';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { RemoteJson } from '../parts/remote-text.tsx';
import { EventDetails } from './entry-details.tsx';
import {
  box,
  layOut,
  nearest,
  related,
  shownNodes,
  withoutParties,
  type Layout,
  type RelatedNodes,
} from './graph-layout.ts';
import { partyName } from './timeline.ts';

interface GraphProps {
  readonly runId: string;
  /** Events that the page has read; they name the nodes. */
  readonly events: readonly AuditEvent[];
  readonly selected: string | null;
  readonly select: (id: string) => void;
}

export function GraphView({ runId, events, selected, select }: GraphProps) {
  const { client } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) => (await client.getGraph({ params: { runId }, signal })).body,
    `graph ${runId}`,
  );
  const whole = useMemo(() => (data === undefined ? null : withoutParties(data)), [data]);
  const isLarge = (whole?.nodes.length ?? 0) > shownNodes;
  // a small graph stays where it is when another node is chosen
  const middle = isLarge ? selected : null;
  const layout = useMemo(
    () => (whole === null ? null : layOut(nearest(whole, { id: middle, most: shownNodes }))),
    [whole, middle],
  );
  const lineage = useMemo(
    () => (whole === null || selected === null ? null : related(whole.edges, selected)),
    [whole, selected],
  );
  const byId = useMemo(() => new Map(events.map((event) => [event.eventId, event])), [events]);
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (layout === null || whole === null || data === undefined) return <Loading what="the causal graph" />;
  if (layout.nodes.length === 0) return <Empty title="The run has no causal graph" />;
  const node = whole.nodes.find(({ id }) => id === selected);
  return (
    <div class="run-body">
      <div class="run-main">
        <p class="quiet pad">
          {isLarge
            ? `The ${layout.nodes.length} nodes nearest to the selected one, of ${whole.nodes.length.toLocaleString('en')}. `
            : `${counted(whole.nodes.length, 'node')}. `}
          {data.truncated === true && 'The run has more than the service answers. '}
          {data.rootHash === null ? 'Not sealed: later events still add to it.' : 'Sealed.'}
        </p>
        <Drawing
          layout={layout}
          lineage={lineage}
          selected={selected}
          select={select}
          labelOf={labels(byId)}
        />
      </div>
      <aside class="run-details" aria-label="Details">
        {node === undefined ? (
          <p class="quiet">Select a node to see what led to it and what followed.</p>
        ) : (
          <div class="stack">
            {lineage !== null && <Lineage lineage={lineage} />}
            <NodeDetails node={node} event={byId.get(node.id)} />
          </div>
        )}
      </aside>
    </div>
  );
}

const Lineage = ({ lineage: { before, after } }: { readonly lineage: RelatedNodes }) => (
  <p>
    <strong>{before.size}</strong> led to it, <strong>{after.size}</strong> followed from it.
  </p>
);

const NodeDetails = ({ node, event }: { readonly node: GraphNode; readonly event: AuditEvent | undefined }) =>
  event === undefined ? (
    <section class="stack">
      <h2>{visibleLine(node.id)}</h2>
      <p class="quiet">{node.type}</p>
      <RemoteJson value={node.data} />
    </section>
  ) : (
    <EventDetails event={event} />
  );

interface Label {
  readonly title: string;
  readonly about: string;
}

const labels =
  (events: ReadonlyMap<string, AuditEvent>) =>
  ({ id, type, data }: GraphNode): Label => {
    const event = events.get(id);
    if (event === undefined) {
      const { eventType } = data;
      return typeof eventType === 'string' ? { title: eventType, about: id } : { title: id, about: type };
    }
    const { eventType, actor, resource } = event;
    return { title: eventType, about: partyName(resource) ?? partyName(actor) ?? '' };
  };

interface DrawingProps {
  readonly layout: Layout;
  readonly lineage: RelatedNodes | null;
  readonly selected: string | null;
  readonly select: (id: string) => void;
  readonly labelOf: (node: GraphNode) => Label;
}

function Drawing({ layout, lineage, selected, select, labelOf }: DrawingProps) {
  const { nodes, edges, width, height } = layout;
  const placeOf = new Map(nodes.map((placed) => [placed.node.id, placed]));
  const isLit = (id: string): boolean =>
    lineage === null || id === selected || lineage.before.has(id) || lineage.after.has(id);
  return (
    <div class="graph" role="group" aria-label="Causal graph">
      <svg width={width + 2} height={height + 2} viewBox={`-1 -1 ${width + 2} ${height + 2}`}>
        {/* cuts a name that is wider than its box */}
        <clipPath id="node-box">
          <rect width={box.width - 4} height={box.height} />
        </clipPath>
        {edges.map(({ source, target, type }) => {
          const [from, to] = [placeOf.get(source), placeOf.get(target)];
          if (from === undefined || to === undefined) return null;
          return (
            <path
              key={`${source} ${target} ${type}`}
              class={`edge ${isLit(source) && isLit(target) ? '' : 'dim'}`}
              d={curve(from, to)}
            />
          );
        })}
        {nodes.map(({ node, x, y }) => {
          const { title, about } = labelOf(node);
          return (
            <g
              key={node.id}
              class={`node ${isLit(node.id) ? '' : 'dim'} ${node.id === selected ? 'selected' : ''}`}
              transform={`translate(${x} ${y})`}
              role="button"
              tabindex={0}
              aria-pressed={node.id === selected}
              onClick={() => select(node.id)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' && event.key !== ' ') return;
                event.preventDefault();
                select(node.id);
              }}
            >
              <rect width={box.width} height={box.height} rx="6" />
              <g clip-path="url(#node-box)">
                <text x="10" y="18" class="node-title">
                  {clipped(title)}
                </text>{' '}
                <text x="10" y="34" class="node-about">
                  {clipped(about)}
                </text>
              </g>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** From the bottom of one box to the top of another. */
function curve(
  from: { readonly x: number; readonly y: number },
  to: { readonly x: number; readonly y: number },
): string {
  const [x1, y1] = [from.x + box.width / 2, from.y + box.height];
  const [x2, y2] = [to.x + box.width / 2, to.y];
  const bend = Math.max(box.gapY / 2, Math.abs(y2 - y1) / 2);
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}

/** As much as fits into a box. */
const clipped = (text: string): string => {
  const shown = visibleLine(text);
  return shown.length > 26 ? `${shown.slice(0, 25)}…` : shown;
};
