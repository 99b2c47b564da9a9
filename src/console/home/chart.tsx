/** Decisions a day as stacked bars, drawn as SVG; a table says the same to screen readers. */
import type { PolicyAction } from '../../contract/policy-words.ts';
import type { Day } from './decisions.ts';

const order: readonly PolicyAction[] = ['allow', 'warn', 'escalate', 'deny'];
const names: Readonly<Record<PolicyAction, string>> = {
  allow: 'allowed',
  warn: 'allowed with a warning',
  escalate: 'asked a person',
  deny: 'denied',
};

const height = 96;
const step = 40;
const barWidth = 24;

const sumOf = ({ counts }: Day): number => order.reduce((sum, action) => sum + counts[action], 0);

export function DecisionChart({ days }: { readonly days: readonly Day[] }) {
  const most = Math.max(1, ...days.map(sumOf));
  return (
    <>
      <svg
        class="chart"
        viewBox={`0 0 ${days.length * step} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {days.map((day, at) => (
          <Bar key={day.date} day={day} x={at * step + (step - barWidth) / 2} most={most} />
        ))}
      </svg>
      <div class="chart-days" aria-hidden="true">
        {days.map(({ date }) => (
          <span key={date}>{Number(date.slice(8))}</span>
        ))}
      </div>
      <ul class="legend" aria-hidden="true">
        {order.map((action) => (
          <li key={action} class={`legend-${action}`}>
            {names[action]}
            <strong>{days.reduce((sum, { counts }) => sum + counts[action], 0).toLocaleString('en')}</strong>
          </li>
        ))}
      </ul>
      <div class="hidden">
        <DecisionTable days={days} />
      </div>
    </>
  );
}

function Bar({ day, x, most }: { readonly day: Day; readonly x: number; readonly most: number }) {
  let y = height;
  return (
    <g>
      <title>
        {day.date}: {order.map((action) => `${day.counts[action]} ${names[action]}`).join(', ')}
      </title>
      <rect x={x} y="0" width={barWidth} height={height} class="chart-room" />
      {order.map((action) => {
        const tall = (day.counts[action] / most) * height;
        y -= tall;
        return tall === 0 ? null : (
          <rect key={action} x={x} y={y} width={barWidth} height={tall} class={`bar-${action}`} />
        );
      })}
    </g>
  );
}

/** A table grows to its content, also where it is hidden: what is around it keeps it small. */
const DecisionTable = ({ days }: { readonly days: readonly Day[] }) => (
  <table>
    <caption>Decisions a day</caption>
    <thead>
      <tr>
        <th scope="col">Day</th>
        {order.map((action) => (
          <th key={action} scope="col">
            {names[action]}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {days.map(({ date, counts }) => (
        <tr key={date}>
          <th scope="row">{date}</th>
          {order.map((action) => (
            <td key={action}>{counts[action]}</td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
