//! The number of inline elements can differ between a type and its subtypes.

use ancho_entities::{Buffer, BufferElement, Field, Lookup, Query};

#[derive(Field)]
struct Call<F: 'static>(#[field(opaque)] F);

type Any = Call<for<'a> fn(&'a u8)>;
type Long = Call<fn(&'static u8)>;

impl BufferElement for Any {
    const INLINE: usize = 1;
}

#[expect(coherence_leak_check, reason = "only their lifetimes tell the two apart")]
impl BufferElement for Long {
    const INLINE: usize = 16;
}

fn query<'w, 'd>(any: Query<'w, &'d Buffer<Any>>) -> Query<'w, &'d Buffer<Long>> {
    any
}

fn lookup<'w, 'd>(any: Lookup<'w, &'d Buffer<Any>>) -> Lookup<'w, &'d Buffer<Long>> {
    any
}

fn main() {}
