/**
 * RFC 9901, Selective Disclosure for JWTs: disclosures as the RFC spells them, spaces included, and their SHA-256
 * digests. Source: the RFC, §4.2.1 and §4.2.3.
 */
export const disclosures = [
  {
    text: '["6qMQvRL5haj", "family_name", "Möbius"]',
    digest: 'uutlBuYeMDyjLLTpf6Jxi7yNkEF35jdyWMn9U7b_RYY',
  },
  {
    text: '["_26bc4LT-ac6q2KI6cBW5es", "family_name", "Möbius"]',
    digest: 'X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0',
  },
];

/** §4.2.1: the second of them without spaces, as base64url. */
export const withoutSpaces = {
  disclosure: ['_26bc4LT-ac6q2KI6cBW5es', 'family_name', 'Möbius'],
  encoded: 'WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsImZhbWlseV9uYW1lIiwiTcO2Yml1cyJd',
} as const;
