/** Known answers that RFC 9901 prints (SD-JWT). */

/** §4.2.3 and §4.2.1: the text of a disclosure with the RFC's own spaces, and its SHA-256 digest in base64url. */
export const disclosureDigests: readonly (readonly [text: string, digest: string])[] = [
  ['["6qMQvRL5haj", "family_name", "Möbius"]', 'uutlBuYeMDyjLLTpf6Jxi7yNkEF35jdyWMn9U7b_RYY'],
  ['["_26bc4LT-ac6q2KI6cBW5es", "family_name", "Möbius"]', 'X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0'],
];
