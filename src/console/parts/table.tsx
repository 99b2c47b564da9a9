import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers align to the right. `wide`: takes the room that is left. */
  readonly kind?: 'number' | 'wide';
}

interface TableProps<Row> {
  /** What the table shows, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** For columns that are not known before: keeps words whole, and scrolls. */
  readonly isRoomy?: boolean;
}

/** Rows and columns. On a narrow screen each row is a card, and each cell repeats the name of its column. */
export const Table = <Row,>({ caption, columns, rows, keyOf, isRoomy = false }: TableProps<Row>) => (
  <div
    class={isRoomy ? 'table-frame roomy' : 'table-frame'}
    {...(isRoomy ? ({ tabIndex: 0, role: 'region', 'aria-label': caption } as const) : {})}
  >
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ name, kind }) => (
            <th key={name} scope="col" class={kind}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ name, cell, kind }) => (
              <td key={name} data-name={name} class={kind}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
