/**
 * C2SP: the examples of signed-note, tlog-checkpoint, tlog-tiles and tlog-witness.
 * Source: github.com/C2SP/C2SP (CC-BY-4.0), the files named at each.
 */

/** `signed-note.md` § Verifier keys, Example. */
export const signedNote = {
  name: 'example.com/foo',
  keyId: 0x530d903a,
  verifierKey: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  text: 'This is an example message.\n',
  note: `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`,
};

/** `tlog-checkpoint.md`: the text of the example, without its signature. */
export const checkpoint = {
  origin: 'example.com/behind-the-sofa',
  size: 20_852_163,
  root: 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
  text: 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
};

/** `tlog-tiles.md` § Merkle Tree: an index, and the partial tiles of two trees. */
export const tiles = {
  index: 1_234_067,
  indexPath: 'x001/x234/067',
  partial: [
    { size: 70_000, paths: ['tile/2/000.p/1', 'tile/1/001.p/17', 'tile/0/273.p/112'] },
    { size: 256, paths: ['tile/1/000.p/1'] },
  ],
};

/** `tlog-witness.md` § add-checkpoint: the example of a request. */
export const witnessRequest = {
  oldSize: 20_852_014,
  proof: [
    'PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=',
    'jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=',
    '5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=',
    '/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=',
  ],
  origin: 'example.com/behind-the-sofa',
  body: `old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
`,
};
