import { describe, expect, it } from 'vitest';
import { CallIds } from '../../../src/core/intake/call-ids.ts';
import { Changes } from '../../../src/core/intake/fit.ts';

const start = () => {
  const changes = new Changes();
  const ids = new CallIds(changes);
  ids.message();
  return { ids, changes };
};

describe('the call of a result', () => {
  it('a result answers the call with its id, whatever the order of the results', () => {
    const { ids } = start();
    ids.called('a', 'read');
    ids.called('b', 'write');
    expect(ids.answered({ sourceId: 'b' })).toEqual({ id: 'b', matched: 'id', isGuess: false });
    expect(ids.answered({ sourceId: 'a' })).toEqual({ id: 'a', matched: 'id', isGuess: false });
  });

  it('a result answers a call by name, else in order, when two open calls share an id', () => {
    const { ids, changes } = start();
    expect([ids.called('c', 'read'), ids.called('c', 'write')]).toEqual(['c', 'c~2']);
    expect(ids.answered({ sourceId: 'c', name: 'write' })).toMatchObject({ id: 'c~2', matched: 'name' });
    expect(ids.answered({ sourceId: 'c' })).toMatchObject({ id: 'c', matched: 'id' });
    ids.called('d', 'read');
    ids.called('d', 'write');
    expect(ids.answered({ sourceId: 'd' })).toEqual({ id: 'd', matched: 'order', isGuess: true });
    expect(ids.answered({ sourceId: 'd' })).toEqual({ id: 'd~2', matched: 'id', isGuess: true });
    expect(changes.counts.get('call_id_renamed')).toBe(2);
  });

  it('a call never gets the id of another call, though the source uses that id too', () => {
    const { ids } = start();
    expect([ids.called('a', 'read'), ids.called('a', 'write')]).toEqual(['a', 'a~2']);
    const own = ids.called('a~2', 'pay');
    expect(own).not.toBe('a~2');
    expect(ids.answered({ sourceId: 'a~2' })).toMatchObject({ id: own, matched: 'id' });
    const first = ids.called('import:call-1', 'read');
    expect(ids.called(undefined, 'write')).not.toBe(first);
  });

  it('a result without id answers a call by name, else in order within one message', () => {
    const { ids } = start();
    const [first, second] = [ids.called(undefined, 'read'), ids.called(undefined, 'write')];
    expect(ids.answered({ sourceId: undefined, name: 'write' })).toMatchObject({
      id: second,
      matched: 'name',
    });
    expect(ids.answered({ sourceId: undefined })).toMatchObject({ id: first, matched: 'order' });
  });

  it('a result that order alone gives to one of several open calls is a guess, as is that of the others', () => {
    const { ids } = start();
    ids.called(undefined, 'pay');
    ids.called(undefined, 'rm');
    ids.called('x', 'pay');
    const guesses = [undefined, undefined, 'x'].map((sourceId) => ids.answered({ sourceId }).isGuess);
    expect(guesses).toEqual([true, true, true]);
    ids.called(undefined, 'pay');
    expect(ids.answered({ sourceId: undefined })).toMatchObject({ matched: 'order', isGuess: false });
  });

  it('a result without id is ambiguous when calls of two messages or no call are open', () => {
    const { ids, changes } = start();
    ids.called(undefined, 'read');
    ids.message();
    ids.called(undefined, 'write');
    expect(ids.answered({ sourceId: undefined })).toMatchObject({ id: undefined, matched: 'ambiguous' });
    expect(ids.answered({ sourceId: undefined, name: 'other' })).toMatchObject({
      id: undefined,
      matched: 'ambiguous',
    });
    expect(changes.counts.get('result_ambiguous')).toBe(2);
  });

  it('a result keeps the id of a call that the source does not contain', () => {
    const { ids, changes } = start();
    expect(ids.answered({ sourceId: 'x' })).toMatchObject({ id: 'x', matched: 'none' });
    expect(changes.counts.get('call_unknown')).toBe(1);
  });
});
