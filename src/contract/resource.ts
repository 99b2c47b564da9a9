/**
 * The rows that most resources have: create one, list them, get one, update one, delete one.
 * Proven by `test/contract/openapi.test.ts`.
 */
import type { TObject, TSchema } from 'typebox';
import type { NoBody, Operation, Scope } from './operation.ts';
import { page, pageQuery } from './shapes.ts';

type SharedFields = Pick<Operation, 'tag' | 'stability' | 'origin' | 'access'>;

/** What the rows of a resource have in common. */
interface Resource<Params, Item> extends SharedFields {
  /** Of the list. */
  readonly path: string;
  /** The id: the path of one item is that of the list, and its id. */
  readonly params: Params;
  /** The body of an item in answers. */
  readonly item: Item;
  readonly reads: Scope;
  readonly writes: Scope;
}

interface Usual<Success> extends SharedFields {
  readonly path: string;
  readonly scope: Scope;
  readonly success: Success;
}
export interface CreateRow<Item> extends Usual<{ readonly 201: Item }> {
  readonly method: 'POST';
}
export interface ListRow<Item extends TSchema> extends Usual<{
  readonly 200: ReturnType<typeof page<Item>>;
}> {
  readonly method: 'GET';
  readonly query: typeof pageQuery;
}
export interface GetRow<Params, Item> extends Usual<{ readonly 200: Item }> {
  readonly method: 'GET';
  readonly params: Params;
}
export interface UpdateRow<Params, Item> extends Usual<{ readonly 200: Item }> {
  readonly method: 'PUT';
  readonly params: Params;
  readonly ifMatch: true;
}
export interface DeleteRow<Params> extends Usual<{ readonly 204: NoBody }> {
  readonly method: 'DELETE';
  readonly params: Params;
}

/** What a row adds; each other member that it has replaces the usual one. */
type Own = Pick<Operation, 'summary' | 'statuses'> & Partial<Operation>;

export type RowOf<Row, Given> = Omit<Row, keyof Given> & Given;

const row =
  <Row extends object>(usual: Row) =>
  <const Given extends Own>(given: Given): RowOf<Row, Given> => ({ ...usual, ...given });

/** Returns a function for each usual row of a resource. */
export function resource<Params extends TObject, Item extends TSchema>({
  path,
  params,
  item,
  reads,
  writes,
  ...shared
}: Resource<Params, Item>) {
  const read = { ...shared, method: 'GET', scope: reads } as const;
  const write = { ...shared, scope: writes };
  const [id] = Object.keys(params.properties);
  const one = { path: `${path}/{${id}}`, params };
  return {
    create: row<CreateRow<Item>>({ ...write, method: 'POST', path, success: { 201: item } }),
    list: row<ListRow<Item>>({ ...read, path, query: pageQuery, success: { 200: page(item) } }),
    get: row<GetRow<Params, Item>>({ ...read, ...one, success: { 200: item } }),
    update: row<UpdateRow<Params, Item>>({
      ...write,
      ...one,
      method: 'PUT',
      ifMatch: true,
      success: { 200: item },
    }),
    delete: row<DeleteRow<Params>>({ ...write, ...one, method: 'DELETE', success: { 204: { empty: true } } }),
  };
}
