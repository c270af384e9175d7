/** What a providerID says. Which parts a cloud has is the cloud's matter; an absent part is not said. */
export interface ProviderIdParts {
  readonly instanceId: string;
  readonly zone?: string;
  readonly region?: string;
}

/** Parses and prints one cloud's providerIDs. Pure. */
export interface ProviderIdCodec {
  /** The cloud's name in `--cloud-provider`. */
  readonly cloud: string;
  /** What stands before `://`, without it. */
  readonly scheme: string;
  /** The parts, or undefined when the text is not a providerID this cloud would accept. Takes scheme-less forms where the cloud's own controller does. */
  parse(text: string): ProviderIdParts | undefined;
  /** The form to write. Throws a RangeError that names the part when one is missing or malformed. */
  print(parts: ProviderIdParts): string;
  /** The text that all spellings of an instance's id have in common, where that is more than the case. */
  comparable?(instanceId: string): string;
}

/** The scheme of a providerID, or undefined for a scheme-less one. */
export function schemeOf(providerID: string): string | undefined {
  const at = providerID.indexOf('://');
  return at > 0 ? providerID.slice(0, at) : undefined;
}
