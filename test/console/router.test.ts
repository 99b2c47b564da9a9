/** Addresses of the console's pages: what an address names, and what a link to it looks like. */
import { array, assert, dictionary, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linkTo, matchPath, readPlace } from '../../src/console/browser/router.ts';

describe('addresses of the console', () => {
  it('a link leads to the place that it was made for, whatever its segments and its query are', () => {
    const segment = string({ minLength: 1, unit: 'grapheme' });
    assert(
      property(array(segment), dictionary(segment, segment), (segments, query) => {
        const place = readPlace(linkTo(segments, query));
        expect(place.segments).toEqual(segments);
        expect(Object.fromEntries(place.query)).toEqual({ ...query });
      }),
    );
  });

  it('a link leaves out empty values', () => {
    expect(linkTo(['runs'], { status: '', cursor: null, limit: 0 })).toBe('#/runs?limit=0');
  });

  it('an address that is no valid percent-encoding stays as it is', () => {
    expect(readPlace('#/runs/%E0%A4%A').segments).toEqual(['runs', '%E0%A4%A']);
    expect(readPlace('').segments).toEqual([]);
  });

  it.each([
    ['/', [], {}],
    ['/runs/:runId', ['runs', 'a/b'], { runId: 'a/b' }],
    ['/runs/:runId', ['runs'], null],
    ['/runs', ['jobs'], null],
  ])('the path %s matches %j as %j', (path, segments, params) => {
    expect(matchPath(path, segments)).toEqual(params);
  });
});
