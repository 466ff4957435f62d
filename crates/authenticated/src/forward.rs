//! How a family hands its shares to the party that computes with them.
//!
//! A family adds to an [`Authenticated`](crate::Authenticated) party, its field `online`, how correlations come about,
//! and perhaps gadgets of its own. These macros define the rest of its methods as calls of that party's.

/// Defines methods that call those of the field `online`.
#[macro_export]
macro_rules! called_online {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)?;)*) => {$(
        fn $name(&self, $($arg: $type),*) $(-> $out)? {
            self.online.$name($($arg),*)
        }
    )*};
}

/// Defines methods that take messages, and call those of the field `online`.
#[macro_export]
macro_rules! run_online {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $out:ty;)*) => {$(
        async fn $name(&self, ctx: &quorate_engine::Ctx, $($arg: $type),*) -> quorate_engine::Result<$out> {
            self.online.$name(ctx, $($arg),*).await
        }
    )*};
}

/// Defines the real functions but softmax as calls of the field `online`.
#[macro_export]
macro_rules! real_functions_online {
    () => {
        $crate::run_online! {
            fn sigmoid(x: &$crate::Tagged, frac: u32) -> $crate::Tagged;
            fn tanh(x: &$crate::Tagged, frac: u32) -> $crate::Tagged;
            fn gelu(x: &$crate::Tagged, frac: u32) -> $crate::Tagged;
            fn exp(x: &$crate::Tagged, frac: u32) -> $crate::Tagged;
            fn log(x: &$crate::Tagged, fracs: (u32, u32)) -> $crate::Tagged;
            fn sqrt(x: &$crate::Tagged, fracs: (u32, u32), argument_bits: u32) -> $crate::Tagged;
            fn rsqrt(x: &$crate::Tagged, fracs: (u32, u32)) -> $crate::Tagged;
            fn reciprocal(x: &$crate::Tagged, fracs: (u32, u32)) -> $crate::Tagged;
            fn divide(x: &$crate::Tagged, y: &$crate::Tagged, up: u32, quotient_bits: u32) -> $crate::Tagged;
        }
    };
}

/// Defines the methods of `Pools` that are those of the field `online`.
#[macro_export]
macro_rules! pools_online {
    () => {
        fn name_of(kind: &$crate::Kind) -> String {
            format!("{kind:?}") // `Display` leaves fields out
        }

        fn pack(&self, material: &$crate::Material, out: &mut Vec<u8>) -> quorate_engine::Result<()> {
            self.online.pack(material, out);
            Ok(())
        }

        fn secrets(&self) -> zeroize::Zeroizing<Vec<u8>> {
            self.online.keys().secrets()
        }

        $crate::called_online! {
            fn packed_bytes(kind: &$crate::Kind, len: usize) -> usize;
            fn unpack(kind: &$crate::Kind, len: usize, bytes: &[u8]) -> quorate_engine::Result<$crate::Material>;
            fn check_made(ctx: &quorate_engine::Ctx) -> quorate_engine::Result<()>;
            fn fill_from_pool(
                origin: quorate_crypto::SessionId,
                demand: quorate_engine::Demand<$crate::Kind>,
                made: std::collections::BTreeMap<$crate::Kind, $crate::Material>,
            ) -> quorate_engine::Result<()>;
        }
    };
}

/// Implements `Sharing`, `Garbles` and `Stocks` by those of the field `online`; `finer` is [`Sharing::FINER`].
///
/// [`Sharing::FINER`]: quorate_engine::Sharing::FINER
#[macro_export]
macro_rules! shares_online {
    ($family:ty, finer: $finer:expr) => {
        impl quorate_engine::Sharing for $family {
            type A = $crate::Tagged;
            type B = $crate::SharedBits;

            const CHECKED: bool = true;
            const MOST_BITS: u32 = <$crate::Authenticated as quorate_engine::Sharing>::MOST_BITS;
            const FINER: usize = $finer;

            $crate::called_online! {
                fn most_bits() -> u32;
                fn shape(x: &$crate::Tagged) -> (quorate_ring::Ring, usize);
                fn bit_shape(x: &$crate::SharedBits) -> (usize, usize);
                fn public(value: &quorate_ring::Vector) -> $crate::Tagged;
                fn public_bits(value: &quorate_ring::Bits) -> $crate::SharedBits;
                fn add(x: &$crate::Tagged, y: &$crate::Tagged) -> $crate::Tagged;
                fn sub(x: &$crate::Tagged, y: &$crate::Tagged) -> $crate::Tagged;
                fn add_public(x: &$crate::Tagged, value: &quorate_ring::Vector) -> $crate::Tagged;
                fn say_who_knows(x: &mut $crate::Tagged, known: Option<usize>);
                fn who_knows(x: &$crate::Tagged) -> Option<usize>;
                fn linear(x: &$crate::Tagged, map: &quorate_engine::Linear<'_>) -> $crate::Tagged;
                fn update(x: &mut $crate::Tagged, y: &$crate::Tagged, update: &quorate_engine::Update);
                fn concat(parts: &[&$crate::Tagged]) -> $crate::Tagged;
                fn xor(x: &$crate::SharedBits, y: &$crate::SharedBits) -> $crate::SharedBits;
                fn xor_public(x: &$crate::SharedBits, value: &quorate_ring::Bits) -> $crate::SharedBits;
                fn linear_bits(x: &$crate::SharedBits, map: &quorate_engine::LinearBits<'_>) -> $crate::SharedBits;
                fn update_bits(
                    x: &mut $crate::SharedBits, y: &$crate::SharedBits, update: &quorate_engine::UpdateBits<'_>
                );
                fn concat_rows(parts: &[&$crate::SharedBits]) -> $crate::SharedBits;
                fn concat_lanes(parts: &[&$crate::SharedBits]) -> $crate::SharedBits;
            }

            $crate::run_online! {
                fn input(
                    owner: usize, shape: (quorate_ring::Ring, usize), value: Option<&quorate_ring::Vector>
                ) -> $crate::Tagged;
                fn input_bits(
                    owner: usize, shape: (usize, usize), value: Option<&quorate_ring::Bits>
                ) -> $crate::SharedBits;
                fn bilinear(form: quorate_engine::Form, x: &$crate::Tagged, y: &$crate::Tagged) -> $crate::Tagged;
                fn lsb(x: &$crate::Tagged) -> $crate::SharedBits;
                fn bit_to_msb(x: &$crate::SharedBits, ring: quorate_ring::Ring) -> $crate::Tagged;
                fn and(x: &$crate::SharedBits, y: &$crate::SharedBits) -> $crate::SharedBits;
                fn open(x: &$crate::Tagged) -> quorate_engine::Opened<quorate_ring::Vector>;
                fn open_bits(x: &$crate::SharedBits) -> quorate_engine::Opened<quorate_ring::Bits>;
                fn check() -> quorate_engine::Checked;
                fn reveal(
                    checked: &quorate_engine::Checked, x: &$crate::Tagged, to: Option<usize>
                ) -> Option<quorate_engine::Opened<quorate_ring::Vector>>;
                fn reveal_bits(
                    checked: &quorate_engine::Checked, x: &$crate::SharedBits, to: Option<usize>
                ) -> Option<quorate_engine::Opened<quorate_ring::Bits>>;
                fn random_bits(ring: quorate_ring::Ring, len: usize) -> $crate::Tagged;
                fn dabits(ring: quorate_ring::Ring, len: usize) -> ($crate::Tagged, $crate::SharedBits);
                fn edabits(
                    ring: quorate_ring::Ring, cut: Option<u32>, len: usize
                ) -> quorate_engine::EdaBits<$crate::Tagged, $crate::SharedBits>;
                fn comparison_masks(
                    ring: quorate_ring::Ring, pairs: usize, len: usize
                ) -> quorate_engine::ComparisonMasks<$crate::Tagged, $crate::SharedBits>;
                fn trunc_masks(
                    ring: quorate_ring::Ring, shift: u32, len: usize
                ) -> quorate_engine::TruncMasks<$crate::Tagged>;
                fn wide_edabits(
                    ring: quorate_ring::Ring, wide: quorate_ring::Ring, len: usize
                ) -> quorate_engine::EdaBits<$crate::Tagged, $crate::SharedBits>;
                fn shuffle(columns: &[&$crate::Tagged], rows: usize) -> Vec<$crate::Tagged>;
            }
        }

        impl quorate_gadgets::Garbles for $family {
            type Y = quorate_gadgets::NoLabels;
        }

        impl quorate_engine::Stocks for $family {
            type Kind = $crate::Kind;
            type Vectors = $crate::Tagged;
            type Matrices = $crate::SharedBits;

            $crate::called_online! {
                fn stock() -> &quorate_engine::Stock<$crate::Kind, $crate::Tagged, $crate::SharedBits>;
                fn layout(kind: &$crate::Kind) -> quorate_engine::Layout;
                fn check_kind(kind: &$crate::Kind) -> quorate_engine::Result<()>;
                fn blank(dry: bool, shape: (quorate_ring::Ring, usize)) -> $crate::Tagged;
                fn blank_bits(dry: bool, shape: (usize, usize)) -> $crate::SharedBits;
            }

            $crate::run_online! {
                fn make(kind: &$crate::Kind, len: usize) -> $crate::Material;
                fn make_kinds(
                    totals: &std::collections::BTreeMap<$crate::Kind, usize>
                ) -> std::collections::BTreeMap<$crate::Kind, $crate::Material>;
            }
        }
    };
}
