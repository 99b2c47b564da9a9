/**
 * RFC 6962 and RFC 9162 §2.1: the tree of eight leaves that the public implementations share, its roots and proofs.
 * Source: github.com/transparency-dev/merkle (Apache-2.0): `testonly/constants.go` for leaves and roots,
 * `rfc6962/rfc6962_test.go` for single hashes, `testdata/{inclusion,consistency}/N/happy-path.json` for proofs.
 */

/** Hash of a leaf, by its input as text. */
export const leafHashes = [
  ['', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
  ['L123456', '395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56'],
] as const;

/** Inputs of the leaves, in hex. */
export const leafInputs = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];

/** Roots in hex, by tree size from 0 to 8. */
export const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** Hashes in base64. */
export const inclusionProofs = [
  {
    index: 0,
    size: 1,
    leaf: 'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
    root: 'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
    path: [],
  },
  {
    index: 0,
    size: 8,
    leaf: 'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
    root: 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=',
    path: [
      'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=',
      'Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4=',
      'a0eq8p7jwq+a+Im8H7klTavTEXfxYjLdaqsDXKOb9uQ=',
    ],
  },
  {
    index: 5,
    size: 8,
    leaf: 'QnGia+DYqE8L1UyMMC58s6O10fpngKQLzOKHNHfatlg=',
    root: 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=',
    path: [
      'vBoGQ7EuTS18d5GPROD095qDi2z57FtcKD4fTYhZnms=',
      'yoVOoSjtBQtBs1/8G4e46yveRh6eO1WW7Oa51ZdaCuA=',
      '037kGJdt2VdTwcc4Yrk5j6Kiz5tP8P3+izDNlSCWFLc=',
    ],
  },
  {
    index: 2,
    size: 3,
    leaf: 'ApjRIpBtz8EIkstTpzmS/FufST6kybrbJ7eRtBJ6f+c=',
    root: 'rra8/idLcKFPsGel5VeCZNsPqbUa9eC6FZFY8yngbnc=',
    path: ['+sVCA+fMaWzw38tCySodnbr3CtnmIfS9jZhmLwDjwSU='],
  },
  {
    index: 1,
    size: 5,
    leaf: 'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=',
    root: 'Tju7H3tHjc/nH7YxYxUZo7yhLJrvyhYSv85ME6hiZNQ=',
    path: [
      'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
      'Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4=',
      'vBoGQ7EuTS18d5GPROD095qDi2z57FtcKD4fTYhZnms=',
    ],
  },
];

/** Hashes in base64. */
export const consistencyProofs = [
  {
    first: 1,
    second: 1,
    firstRoot: 'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
    secondRoot: 'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
    path: [],
  },
  {
    first: 1,
    second: 8,
    firstRoot: 'bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=',
    secondRoot: 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=',
    path: [
      'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=',
      'Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4=',
      'a0eq8p7jwq+a+Im8H7klTavTEXfxYjLdaqsDXKOb9uQ=',
    ],
  },
  {
    first: 6,
    second: 8,
    firstRoot: 'duZ9rbzfHhDht03cYIq9L5jfsW+851J3tSMqEn8gh+8=',
    secondRoot: 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=',
    path: [
      'DrxdNDf74tsVi58Sah0RjjCBgQMdCpSfje3t68VY72o=',
      'yoVOoSjtBQtBs1/8G4e46yveRh6eO1WW7Oa51ZdaCuA=',
      '037kGJdt2VdTwcc4Yrk5j6Kiz5tP8P3+izDNlSCWFLc=',
    ],
  },
  {
    first: 2,
    second: 5,
    firstRoot: '+sVCA+fMaWzw38tCySodnbr3CtnmIfS9jZhmLwDjwSU=',
    secondRoot: 'Tju7H3tHjc/nH7YxYxUZo7yhLJrvyhYSv85ME6hiZNQ=',
    path: ['Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4=', 'vBoGQ7EuTS18d5GPROD095qDi2z57FtcKD4fTYhZnms='],
  },
  {
    first: 6,
    second: 7,
    firstRoot: 'duZ9rbzfHhDht03cYIq9L5jfsW+851J3tSMqEn8gh+8=',
    secondRoot: '3bib5AOAnjJXUNPSY814kpwpQreUKjS3fhIslZSnTIw=',
    path: [
      'DrxdNDf74tsVi58Sah0RjjCBgQMdCpSfje3t68VY72o=',
      'sIaT7C5yFZcTBkHoIR5+7cy0wmQTlj7ubB4u0W/7Gl8=',
      '037kGJdt2VdTwcc4Yrk5j6Kiz5tP8P3+izDNlSCWFLc=',
    ],
  },
];
