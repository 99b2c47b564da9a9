/**
 * The subject of a mail as a header (RFC 2047): what an encoded word would hide is encoded itself, and no line is longer
 * than 78 characters (RFC 5322 section 2.1.1). Proven by `test/host/outbound/mail.test.ts`.
 */

/** 52 characters of base64: with the name of the header and the marks of the word below 78. */
const wordBytes = 39;
const plainChars = 60;

/** A short subject in ASCII stays as it is, unless a mail program would decode a part of it. */
export function subjectHeader(subject: string): string {
  if (/^[ -~]*$/.test(subject) && subject.length <= plainChars && !subject.includes('=?')) return subject;
  const words: string[] = [];
  let word = '';
  for (const character of subject.toWellFormed()) {
    if (Buffer.byteLength(word + character) > wordBytes) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((each) => `=?UTF-8?B?${Buffer.from(each).toString('base64')}?=`).join(' ');
}
