import { describe, expect, it } from 'vitest';
import { parseTrust } from '../../src/core/note/trust.ts';
import { editedBytes, editedText } from '../../src/core/text.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('text edited by a person', () => {
  it('editedText removes the byte order mark and Windows carriage returns, and nothing else', () => {
    expect(editedText('\ufeffa\r\nb\rc\ufeff\n')).toBe('a\nb\rc\ufeff\n');
    expect(editedText('a\nb')).toBe('a\nb');
  });

  it('editedBytes edits bytes like editedText, but keeps line ends of JSON and other bytes', () => {
    expect(editedBytes(bytes('\ufeffa é\r\nb'))).toEqual(bytes('a é\nb'));
    expect(editedBytes(bytes('\ufeff{\r\n}'))).toEqual(bytes('{\r\n}'));
    expect(editedBytes(Uint8Array.of(0xff, 0x0d, 0x0a))).toEqual(Buffer.from([0xff, 0x0a]));
    expect(editedBytes(new Uint8Array())).toEqual(new Uint8Array());
  });

  it('a trust file edited on Windows is read', () => {
    const trust = 'log example.com/log+09d17381+AfRvx+weg2J7BqkbV2gYAcPL90z6Kxf/VS33uit1Ui+G\nquorum none\n';
    expect(parseTrust(`\ufeff${trust.replaceAll('\n', '\r\n')}`)).toMatchObject({
      origin: 'example.com/log',
      quorum: 0,
    });
  });
});
